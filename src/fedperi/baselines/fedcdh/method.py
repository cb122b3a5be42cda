"""FedCDH: PC with random-feature tests on sums over sites, and the site itself as a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...coordinator.work import WorkCoordinator
from ...errors import InputError
from ...graph.pdag import PDAG
from ...methods.federate import Sites
from ...methods.manifest import described
from ...methods.parameters import Seeded
from ...methods.progress import watching
from ...methods.result import Result
from ...search.phase1 import Step
from ..baseline import (
    Note,
    acyclic,
    baseline_result,
    check_choice,
    check_count,
    check_flag,
    pairs,
    work_transport,
)
from .change import dependence_of_change
from .orient import Marks, close_under_meek, direct_by_change, direct_colliders
from .skeleton import Bound, SkeletonSearch, find_skeleton, join_site
from .tests import Features, FeatureTests


@dataclass(frozen=True)
class FedCDH(Seeded):
    """FedCDH (Li et al., 2024): constraint-based discovery from sites that differ, with the site as a variable.

    Assumes that no cause of two variables is missing, other than the site; that what is independent is so by the
    graph; that all sites have the same graph but for mechanisms that change. Columns must be continuous. Returns a
    PDAG: edges that the tests join, directed by colliders, by Meek's rules, and by which mechanisms change.

    **What sites send.** Means and variances. For each test between variables three numbers (statistic, mean,
    variance). For each set of variables given which sites are compared: sums of random features of it (100, and 25 of
    it with the variable compared), of their products, and of products of four residuals. That describes the joint
    distribution of these few variables, and is **not private in itself**: there is no noise, and from a small site
    single rows may be guessed. At least twice as many rows as features are asked for, for the tests' sake; it is no
    guarantee. With ``faithful=True`` all tests need such sums.

    **Differences to the published code**, which pools all rows; ``faithful=True`` goes back to it in each of these
    points:

    - Tests between variables condition on the site as well (they are made at each site, and added up), as CD-NOD
      does, on which FedCDH builds. The published code does not, so that sites with different means or weights make
      variables dependent that are not.
    - The site is a category; published: a number 0, 1, ..., in the order in which sites are listed.
    - Kernel widths fit standardised columns; published: the median distance of the first 500 rows, which are all of the
      first site, in the table's units, applied to standardised columns.
    - Directions and phases of the features come from one stream; published: each from the same seed, hence not
      independent.
    - Tests allow for what the regression on Z took up, at small sites.
    - Sites are compared given neighbours of the variable; published: given others that the sites differ in.
    - Colliders are directed in the order of their evidence, and none closes a cycle; published: in the order of
      columns.
    - The direction of an undirected edge between two changing variables follows from their changes. Published: such
      edges stay as they are, and changing variables that are *not* adjacent are joined by an arrow (see
      `fedcdh_orient`); the score is taken over landmarks instead of sites.

    Also with ``faithful=True``: its own random numbers, no rows as landmarks, sites of any sizes, and arrows are
    dropped, the weakest first, until there is no cycle (``result.method["dropped"]`` lists them).

    Parameters
    ----------
    alpha : float
        Level of the tests: a pair is separated by a set if the p-value is above it.
    deepest : int, optional
        The largest conditioning set; any size if not given.
    most_tests : int, optional
        The most tests between variables; a tenth of it is the most comparisons of sites, which take longer. Their
        number is exponential in the degree, so that without a bound (None) a dense graph may never end. Before a size
        of conditioning sets whose tests would be too many, that search stops; ``result.method["stopped"]`` and the
        report say so. Tests without a set are always made. Up to 10 variables the default cannot be reached: there are
        at most 23,000 tests and 5,200 comparisons.
    marginal_features, features, conditioning_features : int
        Random features of a variable in tests without Z, in tests given Z, and of Z.
    faithful : bool
        Do what the published code does.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    seed : int
        Of the random features.
    progress : bool, optional
        Whether to show progress on standard error; if not given, only in a terminal.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("age", "pressure"), ("salt", "pressure")])
    >>> sim = fp.simulate(truth, clients=2, samples=500, weights=(0.7, 1.0), intervention="none", seed=1)
    >>> fp.FedCDH().fit(sim.sites).graph
    PDAG('age -> pressure, salt -> pressure', names=['age', 'pressure', 'salt'])
    """

    alpha: float = 0.05
    deepest: int | None = None
    most_tests: int | None = 100_000
    marginal_features: int = 5
    features: int = 25
    conditioning_features: int = 100
    faithful: bool = False
    schema: Any = None
    missing: Literal["error", "drop"] = "error"
    seed: int = 0
    progress: bool | None = None

    _name: ClassVar[str] = "FedCDH"

    def __post_init__(self, random_state: int | None) -> None:
        super().__post_init__(random_state)
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, int | float) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must lie between 0 and 1, not {self.alpha!r}")
        if self.deepest is not None:
            check_count("deepest", self.deepest)
        if self.most_tests is not None:
            check_count("most_tests", self.most_tests, 1)
        for option in ("marginal_features", "features", "conditioning_features"):
            check_count(option, getattr(self, option), 2)
        check_count("seed", self.seed)
        check_flag("faithful", self.faithful)
        check_choice("missing", self.missing, ("error", "drop"))

    def fit(self, sites: Sites) -> Result:
        """Find the graph that the sites share.

        Parameters
        ----------
        sites : list or mapping
            As for `IPERI.fit`, but all with rows: DataFrames, paths of tables, `Site` objects, or a transport.

        Returns
        -------
        Result
            `graph` is the PDAG. ``method["changing"]`` lists the variables whose mechanisms differ between sites;
            ``method["stopped"]`` says what `most_tests` left out, and is empty if nothing was.
        """
        transport = work_transport(sites, self.schema, self.missing, self._name)
        coordinator = WorkCoordinator(transport, "fedcdh")
        self._check_rows(coordinator)
        history: list[Step] = []
        with watching(self.progress, self._name) as note:
            tests = FeatureTests(
                coordinator,
                Features(self.marginal_features, self.features, self.conditioning_features, self.seed, self.faithful),
            )
            skeleton = self._skeleton(tests, history, note)
            graph, found = self._directed(tests, skeleton)
        history.append(Step("directions", coordinator.rounds, float(len(graph))))
        return baseline_result(
            {**described(self, self._name), "tests": tests.tests, **found}, coordinator, graph, history
        )

    def _check_rows(self, coordinator: WorkCoordinator) -> None:
        if len(coordinator.names) < 2:
            raise InputError("FedCDH needs at least two variables")
        least = 2 * max(self.conditioning_features, self.features, self.marginal_features)
        if self.faithful:
            n = sum(site.n for site in coordinator.sites)
            short = f"the sites have {n:.0f} rows together" if n < least else ""
        else:
            small = next((site for site in coordinator.sites if site.n < least), None)
            short = f"site {small.site!r} has {small.n:.0f} rows" if small else ""
        if short:
            raise InputError(
                f"{short}, and FedCDH needs at least {least}, twice as many as random features: ask for fewer "
                "(conditioning_features), or leave the site out"
            )

    def _skeleton(self, tests: FeatureTests, history: list[Step], note: Note) -> SkeletonSearch:
        """Stages 1 and 2: which variables are joined, and which change between sites."""

        def step(words: str, edges: int) -> None:
            history.append(Step(words, tests.coordinator.rounds, float(edges)))
            note(history[-1])

        ask = tests.pooled if self.faithful else tests.within
        bound = Bound(self.deepest, self.most_tests)
        skeleton = find_skeleton(len(tests.coordinator.names), ask, self.alpha, bound, step)
        if len(tests.rows) > 1:
            fewer = Bound(self.deepest, None if self.most_tests is None else -(-self.most_tests // 10))
            join_site(skeleton, tests.pooled, self.alpha, fewer, step, self.faithful)
        return skeleton

    def _directed(self, tests: FeatureTests, skeleton: SkeletonSearch) -> tuple[PDAG, dict[str, Any]]:
        """Stages 3 and 4, and the repair."""
        names = tests.coordinator.names
        site = len(names)
        changing = np.flatnonzero(skeleton.adjacent[site]).tolist()
        marks = Marks(skeleton.adjacent)
        for variable in changing:
            marks.direct(site, variable)
        left_out = direct_colliders(marks, skeleton, self.faithful)
        close_under_meek(marks)
        drawn = direct_by_change(marks, changing, lambda wanted: dependence_of_change(tests, wanted), self.faithful)
        matrix, dropped = _repaired(marks.matrix[:site, :site], skeleton, drawn)
        return PDAG(matrix, names), {
            "changing": [names[v] for v in changing],
            "colliders left out": len(left_out),
            "dropped": pairs(dropped, names),
            "stopped": list(skeleton.stopped),
        }


def _repaired(
    matrix: NDArray[np.bool_], skeleton: SkeletonSearch, drawn: list[tuple[int, int]]
) -> tuple[NDArray[np.bool_], list[tuple[int, int]]]:
    """Drop arrows until there is no cycle: those without a test behind them first, then by their largest p-value."""
    lines = matrix & matrix.T
    strength = np.where(matrix & ~lines, 2.0 - skeleton.weakness[: len(matrix), : len(matrix)], 0.0)
    for rank, (tail, head) in enumerate(drawn, 1):
        strength[tail, head] = rank / (len(drawn) + 1)
    kept, dropped = acyclic(strength)
    return kept | lines, dropped
