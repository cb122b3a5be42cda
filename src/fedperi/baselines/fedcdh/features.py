"""The random features that a step of FedCDH asks a site for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...errors import InputError
from ...protocol.worker import Payload
from .layout import Batch, Floats, TestGroup, Widths, site_key
from .random_features import GIVEN, JOINT, SINGLE, frequencies, in_units, random_features

FEW = 2
"""Up to this number of variables with the same Z, cosines are computed one by one."""


@dataclass(frozen=True, eq=False)
class StepFeatures:
    """Computes the features of a step, and keeps those of single variables until its end.

    Parameters
    ----------
    tests : Batch
        The tests of the step.
    widths : Widths
        Numbers of features.
    values : array, shape (n, p)
        The site's rows, in the units that the coordinator chose.
    seed : int
        Seed of the directions and phases.
    faithful : bool
        Whether they are drawn as the published code does.
    singles, sets, joints : array
        Bandwidths of each variable, of the set Z of each group, and of y with Z of each test.
    surrogate : array
        Features of the site itself, if tests compare sites.
    """

    tests: Batch
    widths: Widths
    values: Floats
    seed: int
    faithful: bool
    singles: Floats
    sets: Floats
    joints: Floats
    surrogate: Floats
    known: dict[int, Floats] = field(default_factory=dict)
    turns: dict[tuple[int, float], tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Floats, site: str, payload: Payload) -> StepFeatures:
        """Read the description of a step from its message."""
        p = rows.shape[1]
        tests = Batch.read(payload, p)
        surrogate = np.zeros(0)
        if tests.x.max(initial=0) == p:  # the coordinator numbers the sites; each finds its own number
            listed = np.asarray(payload.get("sites", ())).tolist()
            if site_key(site) not in listed:
                raise InputError(f"a step of FedCDH compares sites, and does not list site {site!r}")
            surrogate = np.asarray(payload["surrogate"])[listed.index(site_key(site))]
        singles, sets, joints = (np.asarray(payload[name], dtype=float) for name in ("singles", "sets", "joints"))
        return cls(
            tests,
            Widths(*(int(width) for width in payload["widths"])),
            (rows - payload["centre"]) / payload["scale"],
            int(payload["seed"]),
            bool(payload["faithful"]),
            singles,
            sets,
            joints,
            surrogate,
        )

    def of(self, group: TestGroup) -> tuple[Floats, list[Floats], Iterator[Floats]]:
        """Features of Z, of every x, and (one at a time) of every y together with Z."""
        z = self._map(self.values[:, group.given], self.widths.given, self.sets[group.number], GIVEN)
        return z, [self._single(variable) for variable in group.x], self._joints(group)

    def _single(self, variable: int) -> Floats:
        if variable == self.values.shape[1]:
            return np.tile(self.surrogate, (len(self.values), 1))
        if variable not in self.known:
            mapped = self._map(self.values[:, [variable]], self.widths.x, self.singles[variable], SINGLE)
            self.known[variable] = mapped
        return self.known[variable]

    def _joints(self, group: TestGroup) -> Iterator[Floats]:
        given = self.values[:, group.given]
        _, some = np.unique(group.pairs[:, 1], return_index=True)  # one test for each y
        bandwidths = self.joints[group.tests[some]]
        if len(group.given) and len(group.y) > FEW and (bandwidths == bandwidths[0]).all():
            yield from self._turned(group, given, float(bandwidths[0]))
            return
        role = JOINT if len(group.given) else SINGLE
        for variable, bandwidth in zip(group.y, bandwidths, strict=True):
            yield self._map(np.column_stack([self.values[:, variable], given]), self.widths.y, bandwidth, role)

    def _turned(self, group: TestGroup, given: Floats, bandwidth: float) -> Iterator[Floats]:
        """Features of many y with one Z, by ``cos(a + b) = cos a cos b - sin a sin b``: cosines are slow."""
        weights, phases = frequencies(self.seed, JOINT, 1 + len(group.given), self.widths.y, self.faithful)
        weights = weights / bandwidth
        angles = weights[1:].T @ given.T + phases[:, None]
        cos, sin = np.cos(angles), np.sin(angles)
        for variable in group.y.tolist():
            if (variable, bandwidth) not in self.turns:
                own = np.outer(weights[0], self.values[:, variable])
                self.turns[variable, bandwidth] = np.cos(own), np.sin(own)
            own_cos, own_sin = self.turns[variable, bandwidth]
            yield in_units(cos * own_cos - sin * own_sin, weights, phases).T

    def _map(self, values: Floats, count: int, bandwidth: float, role: int) -> Floats:
        return random_features(values, count, float(bandwidth), self.seed, role, self.faithful)
