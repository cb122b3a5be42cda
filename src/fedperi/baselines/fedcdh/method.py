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
from ...option_values import check_flag, check_one_of, check_whole
from ...search.phase1 import Step
from ..baseline import Note, acyclic, baseline_result, coordinate, pairs
from .change import dependence_of_change
from .orient import Orientation, close_under_meek, direct_by_change, direct_colliders
from .skeleton import Bound, SkeletonSearch, find_skeleton, join_site
from .tests import Features, FeatureTests


@dataclass(frozen=True)
class FedCDH(Seeded):
    """FedCDH (Li et al., 2024): constraint-based discovery from sites that differ, with the site as a variable.

    Assumes that there are no hidden common causes other than the site; faithfulness; and that all sites have the
    same graph, with mechanisms that may change. Columns must be continuous. Returns a PDAG: edges found by tests,
    oriented by v-structures, by Meek's rules, and by which mechanisms change.

    **What sites send.** Means and variances. For each test between variables three numbers (statistic, mean,
    variance). For each conditioning set of a comparison of sites: sums of its random features (100, and 25 of the set
    together with the variable compared), of their products, and of products of four residuals. These sums describe
    the joint distribution of a few variables. They are **not private**: there is no noise, and single rows of a small
    site might be guessed. Sites need at least twice as many rows as features; the tests require this, and it
    guarantees no privacy. With ``faithful=True`` all tests need such sums.

    **Differences from the published code**, which pools all rows. ``faithful=True`` undoes each of these:

    - Tests between variables also condition on the site (each site tests, and the statistics are added). CD-NOD, on
      which FedCDH builds, does the same. The published code does not: sites with different means or weights then make
      independent variables look dependent.
    - The site is a category; published: a number 0, 1, ..., in the order in which sites are listed.
    - Kernel widths fit standardised columns; published: the median distance between the first 500 rows (all from the
      first site) in the table's units, although it is applied to standardised columns.
    - Directions and phases of the features come from one random stream; published: all from the same seed, so they
      are not independent.
    - At small sites, tests correct for the degrees of freedom that the regression on Z used.
    - Sites are compared given neighbours of the variable; published: given other variables that differ between sites.
    - V-structures are oriented in the order of their evidence, and none closes a cycle; published: in the order of
      columns.
    - The direction of an undirected edge between two changing variables follows from their changes. Published: such
      edges stay undirected, and changing variables that are *not* adjacent get an arrow (see
      `direct_by_change`); the score is computed over landmarks instead of sites.

    Even with ``faithful=True`` some things differ: the random numbers; no rows are used as landmarks; sites may have
    any sizes; arrows are dropped, the weakest first, until the graph is acyclic (``result.method["dropped"]`` lists
    them).

    Parameters
    ----------
    alpha : float
        Level of the tests: a set separates a pair of variables if the p-value is above it.
    deepest : int, optional
        Size of the largest conditioning set; no limit if not given.
    most_tests : int, optional
        Largest number of tests between variables. Comparisons of sites take longer: their limit is a tenth of it. The
        number of tests is exponential in the degree: without a limit (None) the search in a dense graph may not end.
        The search stops before a size of conditioning sets that would need too many tests;
        ``result.method["stopped"]`` and the report say so. Tests without conditioning are always made. With up to 10
        variables the default is never reached: there are at most 23,000 tests and 5,200 comparisons.
    marginal_features, features, conditioning_features : int
        Numbers of random features: of a variable in tests without Z, of a variable in tests given Z, and of Z.
    faithful : bool
        Reproduce the published code.
    schema : Schema or path, optional
        Types of columns, if they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    seed : int
        Seed of the random features.
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
            check_whole("deepest", self.deepest)
        if self.most_tests is not None:
            check_whole("most_tests", self.most_tests, 1)
        for option in ("marginal_features", "features", "conditioning_features"):
            check_whole(option, getattr(self, option), 2)
        check_whole("seed", self.seed)
        check_flag("faithful", self.faithful)
        check_one_of("missing", self.missing, ("error", "drop"))

    def fit(self, sites: Sites) -> Result:
        """Find the graph that the sites share.

        Parameters
        ----------
        sites : list or mapping
            As for `IPERI.fit`, but every site needs rows: DataFrames, paths of tables, `Site` objects, or a transport.

        Returns
        -------
        Result
            `graph` is the PDAG. ``method["changing"]`` lists the variables whose mechanisms differ between sites;
            ``method["stopped"]`` says what `most_tests` left out, and is empty if nothing was.
        """
        coordinator = coordinate(sites, self.schema, self.missing, self._name, "fedcdh")
        self._check_rows(coordinator)
        history: list[Step] = []
        with watching(self.progress, self._name) as note:
            tests = FeatureTests(
                coordinator,
                Features(self.marginal_features, self.features, self.conditioning_features, self.seed, self.faithful),
            )
            skeleton = self._skeleton(tests, history, note)
            graph, found = self._orient(tests, skeleton)
        history.append(Step("directions", coordinator.rounds, float(len(graph))))
        method = {**described(self, self._name), "tests": tests.tests, **found}
        return baseline_result(method, coordinator, graph, history)

    def _check_rows(self, coordinator: WorkCoordinator) -> None:
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
        """Stages 1 and 2: find which variables are adjacent, and which change between sites."""

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

    def _orient(self, tests: FeatureTests, skeleton: SkeletonSearch) -> tuple[PDAG, dict[str, Any]]:
        """Stages 3 and 4: orient edges; then remove cycles."""
        names = tests.coordinator.names
        site = len(names)
        changing = np.flatnonzero(skeleton.adjacent[site]).tolist()
        graph = Orientation(skeleton.adjacent)
        for variable in changing:
            graph.orient(site, variable)
        left_out = direct_colliders(graph, skeleton, self.faithful)
        close_under_meek(graph)
        by_change = direct_by_change(graph, changing, lambda wanted: dependence_of_change(tests, wanted), self.faithful)
        matrix, dropped = _drop_cycles(graph.matrix[:site, :site], skeleton, by_change)
        return PDAG(matrix, names), {
            "changing": [names[v] for v in changing],
            "colliders left out": len(left_out),
            "dropped": pairs(dropped, names),
            "stopped": list(skeleton.stopped),
        }


def _drop_cycles(
    matrix: NDArray[np.bool_], skeleton: SkeletonSearch, by_change: list[tuple[int, int]]
) -> tuple[NDArray[np.bool_], list[tuple[int, int]]]:
    """Drop arrows until there is no cycle: first those that no test supports, then by their largest p-value."""
    lines = matrix & matrix.T
    strength = np.where(matrix & ~lines, 2.0 - skeleton.weakness[: len(matrix), : len(matrix)], 0.0)
    for rank, (tail, head) in enumerate(by_change, 1):
        strength[tail, head] = rank / (len(by_change) + 1)
    kept, dropped = acyclic(strength)
    return kept | lines, dropped
