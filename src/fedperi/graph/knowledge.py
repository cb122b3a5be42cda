"""Background knowledge: required edges, forbidden edges and tiers. These are hard constraints, checked before a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..names import check_name
from . import bits
from .order import find_cycle, topological_order
from .pdag import PDAG
from .validate import Pair, checked_pair

ANY = "*"
"""Stands for every variable in a forbidden arrow."""

ARROW = "->"


@dataclass(frozen=True)
class Knowledge:
    """Background knowledge: what is known before any data are seen.

    Parameters
    ----------
    forbidden : iterable of (cause, effect)
        Arrows that cannot exist, as pairs or as text, ``"stroke -> age"``. ``"* -> age"`` forbids all arrows into age,
        and ``"stroke -> *"`` all arrows out of stroke. Forbid both directions to forbid the edge.
    required : iterable of (cause, effect)
        Arrows that must exist, as pairs or as text.
    tiers : sequence of sequences of str
        Groups in temporal order: no variable causes one of an earlier tier. Variables in no tier are free.

    Examples
    --------
    >>> import fedperi as fp
    >>> known = fp.Knowledge(forbidden=[("stroke", "age")], tiers=[["age"], ["weight", "stroke"]])
    >>> known.constraints(("age", "weight", "stroke")).forbidden  # bit sets: parents forbidden to each
    [6, 0, 0]
    >>> fp.Knowledge(forbidden=["* -> age"]).constraints(("age", "weight", "stroke")).forbidden
    [6, 0, 0]
    """

    forbidden: tuple[Pair, ...] = ()
    required: tuple[Pair, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()

    def __init__(
        self,
        forbidden: Iterable[Pair] = (),
        required: Iterable[Pair] = (),
        tiers: Iterable[Iterable[str]] = (),
    ) -> None:
        for what, pairs in (("forbidden", forbidden), ("required", required)):
            if isinstance(pairs, str) or not isinstance(pairs, Iterable):
                raise InputError(f"{what} must be a list of pairs of names, not {pairs!r}")
            object.__setattr__(self, what, tuple(_arrow(pair) for pair in pairs))
        if isinstance(tiers, str) or not isinstance(tiers, Iterable):
            raise InputError(f"tiers must be a list of lists of variables, not {tiers!r}")
        object.__setattr__(self, "tiers", tuple(_checked_tier(tier) for tier in tiers))
        if any(ANY in pair for pair in self.required):
            raise InputError(f"a required edge names {ANY!r}; name both of its variables")
        for name in {name for group in (*self.forbidden, *self.required, *self.tiers) for name in group}:
            check_name(name, "background knowledge")

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Knowledge:
        """Read knowledge from a TOML file with the keys ``forbidden``, ``required`` and ``tiers``."""
        from ..strict import Unreadable, read_toml

        try:
            content = read_toml(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, Unreadable) as error:
            raise InputError(f"the knowledge file {str(path)!r} cannot be read: {error}") from None
        unknown = [key for key in content if key not in ("forbidden", "required", "tiers")]
        if unknown:
            raise InputError(
                f"the knowledge file {str(path)!r} has the key {unknown[0]!r}; known: forbidden, required, tiers"
            )
        for key, value in content.items():
            arrows = key != "tiers"
            if not isinstance(value, list) or not all(
                isinstance(entry, list) or (arrows and isinstance(entry, str) and ARROW in entry) for entry in value
            ):
                form = "a list of lists of names" + (' (or of arrows such as "a -> b")' if arrows else "")
                raise InputError(f"{key!r} in the knowledge file {str(path)!r} must be {form}")
        return cls(**content)

    def without(self, names: Sequence[str]) -> Knowledge:
        """Return the knowledge about the other variables, if some were left out of the analysis.

        Examples
        --------
        >>> Knowledge(tiers=[["age", "sex"], ["ca"]], forbidden=[("dose", "ca")]).without(["ca"])
        Knowledge(forbidden=(), required=(), tiers=(('age', 'sex'),))
        """
        for cause, effect in self.required:
            gone = next((name for name in (cause, effect) if name in names), None)
            if gone is not None:
                raise InputError(
                    f"the edge {cause} -> {effect} is required, but {gone!r} is left out, because a site lacks too "
                    "many of its values; leave out this site, or the required edge"
                )
        tiers = [[name for name in tier if name not in names] for tier in self.tiers]
        forbidden = [pair for pair in self.forbidden if not set(pair) & set(names)]
        return Knowledge(forbidden, self.required, [tier for tier in tiers if tier])

    def constraints(self, names: Sequence[str]) -> Constraints:
        """Turn the knowledge into sets of forbidden and required parents; refuse a contradiction, and show it."""
        position = {name: i for i, name in enumerate(names)}
        for what, mentioned in (
            ("a forbidden edge", [n for pair in self.forbidden for n in pair if n != ANY]),
            ("a required edge", [n for pair in self.required for n in pair]),
            ("a tier", [n for tier in self.tiers for n in tier]),
        ):
            for name in mentioned:
                if name not in position:
                    raise InputError(f"{what} names {name!r}, which is not a variable; known: {', '.join(names)}")
        tier_of: dict[str, int] = {}
        for rank, tier in enumerate(self.tiers):
            for name in tier:
                if name in tier_of:
                    raise InputError(f"{name!r} is in two tiers: {tier_of[name] + 1} and {rank + 1}")
                tier_of[name] = rank
        forbidden, required = [0] * len(names), [0] * len(names)
        for cause, effect in self._forbidden_pairs(names):
            forbidden[position[effect]] |= 1 << position[cause]
        for later, a in tier_of.items():
            for earlier, b in tier_of.items():
                if a > b:
                    forbidden[position[earlier]] |= 1 << position[later]
        for cause, effect in self.required:
            if cause == effect:
                raise InputError(f"the edge {cause} -> {effect} is required, but joins a variable with itself")
            if forbidden[position[effect]] >> position[cause] & 1:
                why = "by tiers" if tier_of.get(cause, -1) > tier_of.get(effect, len(names)) else "too"
                raise InputError(f"the edge {cause} -> {effect} is required, and forbidden {why}: drop one of the two")
            required[position[effect]] |= 1 << position[cause]
        if topological_order(required) is None:
            cycle = find_cycle(required)
            path = " -> ".join(names[i] for i in [*cycle, cycle[0]])
            raise InputError(f"the required edges form a cycle: {path}")
        return Constraints(tuple(names), forbidden, required)

    def _forbidden_pairs(self, names: Sequence[str]) -> Iterator[Pair]:
        """Yield the forbidden arrows, with every variable in place of a star."""
        for cause, effect in self.forbidden:
            causes, effects = (names if end == ANY else (end,) for end in (cause, effect))
            yield from ((a, b) for a in causes for b in effects if a != b or ANY not in (cause, effect))


@dataclass(frozen=True)
class Constraints:
    """Knowledge over numbered variables: for each node the parents it must not and must have, as bit sets."""

    names: tuple[str, ...]
    forbidden: list[int]
    required: list[int]

    def __call__(self, node: int, parents: int) -> bool:
        """Whether a node may have these parents."""
        return not parents & self.forbidden[node] and not self.required[node] & ~parents

    @property
    def free(self) -> bool:
        """Whether nothing is known."""
        return not any(self.forbidden) and not any(self.required)

    @property
    def order(self) -> list[int] | None:
        """An order of the variables in which every required edge points forward; None if nothing is required."""
        return topological_order(self.required) if any(self.required) else None

    def direct(self, graph: PDAG) -> PDAG:
        """Direct the undirected edges of a graph of which one direction is forbidden."""
        matrix = np.array(graph.adjacency)
        for node, never in enumerate(self.forbidden):
            for parent in bits.members(never):
                if matrix[parent, node] and matrix[node, parent]:
                    matrix[parent, node] = False
        for node, need in enumerate(self.required):
            for parent in bits.members(need):
                matrix[node, parent] = False
        return PDAG(matrix, graph.names)


def _arrow(entry: Any) -> Pair:
    """Return an arrow as a pair of names; it may be written as text."""
    if isinstance(entry, str) and ARROW in entry:
        ends = [end.strip() for end in entry.split(ARROW)]
        if len(ends) != 2 or not all(ends):
            raise InputError(f"an arrow joins two names, such as 'smoking -> stroke', not {entry!r}")
        return ends[0], ends[1]
    return checked_pair(entry)


def _checked_tier(tier: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tier, str):
        raise InputError(f"a tier is a list of variables, not the single string {tier!r}")
    if not isinstance(tier, Iterable):
        raise InputError(f"a tier is a list of variables, not {tier!r}")
    names = tuple(tier)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"a tier is a list of variables; {list(names)!r} holds {name!r}, which is not a string")
    return names


def unconstrained(names: Sequence[str]) -> Constraints:
    """Return constraints that allow everything."""
    return Constraints(tuple(names), [0] * len(names), [0] * len(names))


def as_knowledge(value: Any) -> Knowledge | None:
    """Accept a Knowledge, a path of a knowledge file, or None."""
    if value is None or isinstance(value, Knowledge):
        return value
    if isinstance(value, str | PathLike):
        return Knowledge.from_file(value)
    raise InputError(f"knowledge is a fedperi.Knowledge or the path of a file, not {type(value).__name__}")
