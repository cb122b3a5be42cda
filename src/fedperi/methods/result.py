"""What a method returns: graphs, regrets, evidence, and how they came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..coordinator.record import Transcript
from ..graph.pdag import PDAG
from ..phrases import with_noun
from ..search.phase1 import Step
from .effects.moments import Moments
from .evidence import EdgeEvidence
from .parts import Difference, Groups, PairProbability, Robustness
from .stability import EdgeStability

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of a run.

    Attributes
    ----------
    graph : PDAG
        The tightest graph: `phi_cpdag` closed under Meek's rules, with declared targets and background knowledge.
    phi_cpdag : PDAG
        What phase 2 found: the common CPDAG, with every edge directed that some site's own graph directs.
    cpdag : PDAG
        The CPDAG of phase 1: what all sites have in common.
    dag : PDAG
        One member of the class of `graph`.
    regrets : dict of str to float
        The final regret of each site, in nats: how much worse than its own optimum the common DAG is for it; empty for
        methods that compute none.
    rounds, queries, bytes : int
        Number of times that the sites were asked, of numbers that each sent, and their size in bytes.
    history : tuple of Step
        The objective and the worst site's regret after each step of the search.
    edges : tuple of EdgeEvidence
        For every edge of `graph`: the evidence for it, and why it is directed; empty for methods without evidence.
    method : dict
        The name of the method and its options.
    manifest : dict
        Data for repeating the run: versions, seed, configuration, input hashes.
    stability : tuple of EdgeStability
        How often each edge and its direction were found in `replicates` bootstrap runs; empty without them.
    complete : bool
        False if the run was interrupted; the result then has what was found before.
    privacy : dict of str to dict, or None
        For every site its privacy guarantee, the price, and its ledger; None if no site has noise.
    transcript : Transcript or None
        Every message of the run; not part of the JSON.
    probable : tuple of PairProbability
        For every pair of variables the probabilities of each direction and of no edge; see `probabilities`. This and
        the following are only filled by methods that compare mechanisms (`MPERI`).
    differences : tuple of Difference
        What each site does differently: site, variable, kind, evidence in nats, words.
    groups : tuple of Groups
        For every variable the sites that share its mechanism.
    robustness : tuple of Robustness
        For every edge what its direction depends on, and what changes it.
    warnings : tuple of str
        Warnings that a careful statistician would give about this run. PERI and I-PERI name the sites on which the
        graph depends: those without which it would differ.
    sampling : dict
        Whether the probabilities are exact, and by how much chains differ if they are not.
    moments : Moments or None
        The sites' moments, for `effects`; saved as summaries.json, and not part of the JSON.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(5, clients=3, samples=2000, seed=3)
    >>> result = fp.IPERI().fit(sim.sites)
    >>> result
    Result(I-PERI: ... edges, ... directed; 3 sites, ... rounds)
    >>> fp.Result.from_json(result.to_json()).graph == result.graph
    True
    """

    graph: PDAG
    phi_cpdag: PDAG
    cpdag: PDAG
    dag: PDAG
    regrets: dict[str, float]
    rounds: int
    queries: int
    bytes: int
    history: tuple[Step, ...]
    edges: tuple[EdgeEvidence, ...]
    method: dict[str, Any]
    manifest: dict[str, Any] = field(default_factory=dict)
    stability: tuple[EdgeStability, ...] = ()
    replicates: int = 0
    complete: bool = True
    transcript: Transcript | None = None
    privacy: dict[str, dict[str, Any]] | None = None
    probable: tuple[PairProbability, ...] = ()
    differences: tuple[Difference, ...] = ()
    groups: tuple[Groups, ...] = ()
    robustness: tuple[Robustness, ...] = ()
    warnings: tuple[str, ...] = ()
    sampling: dict[str, Any] = field(default_factory=dict)
    moments: Moments | None = None

    @property
    def effects(self) -> pd.DataFrame:
        """Effects: a row per pair of cause and effect and per site, and one for the pooled effect.

        Columns: docs/guides/effects.md. All pairs with a directed path are listed. Effects are causal
        only if the graph is right: `probability` is that of the arrow. Empty if the sites' summaries are not available:
        for methods other than M-PERI, and for saved results without their summaries.json.

        Examples
        --------
        >>> import fedperi as fp
        >>> truth = fp.PDAG.from_edges([("dose", "pain")])
        >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), intervention="shift", seed=3)
        >>> effects = fp.MPERI().fit(sim.sites).effects
        >>> effects[["cause", "effect", "site", "direct", "direct_low", "direct_high"]].round(2).tail(1)
          cause effect    site  direct  direct_low  direct_high
        3  dose   pain  common    ...
        """
        return self._effects.copy()

    @cached_property
    def _effects(self) -> pd.DataFrame:
        from .effects.table import effect_frame

        return effect_frame(self)

    @property
    def probabilities(self) -> pd.DataFrame:
        """Probabilities of each direction and of no edge: one row per pair (a, b, forward, backward, none).

        The numbers allow for errors of the model: one site that is wrong, and rows that are less informative than the
        model assumes (docs/explanation/method.md). Empty for methods that do not compare mechanisms.

        Examples
        --------
        >>> import fedperi as fp
        >>> result = fp.MPERI().fit(fp.simulate(3, clients=3, samples=1000, intervention="shift", seed=2).sites)
        >>> list(result.probabilities.columns), len(result.probabilities)
        (['a', 'b', 'forward', 'backward', 'none'], 3)
        """
        import pandas as pd

        return pd.DataFrame(self.probable, columns=list(PairProbability._fields))

    @property
    def sharing(self) -> dict[str, float]:
        """For every variable the share of sites that have its common mechanism.

        Examples
        --------
        >>> import fedperi as fp
        >>> sim = fp.simulate(["a", "b"], clients=4, samples=1000, intervention="shift", seed=2)
        >>> fp.MPERI().fit(sim.sites).sharing
        {'a': 0.5, 'b': 0.75}
        """
        return {group.variable: group.share for group in self.groups}

    def to_frame(self) -> pd.DataFrame:
        """Collect the edges in a table: ends, direction, certainty, what it depends on, strength, stability.

        Columns are described at `fedperi.methods.tables.EdgeRow`. Values that a method does not compute are missing.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.MPERI().fit(fp.simulate(3, clients=2, samples=500, seed=2).sites).to_frame().columns.tolist()[:10]
        ['a', 'b', 'directed', 'probability', 'reverse', 'none', 'grade', 'rests_on', 'evidence', 'how_sure']
        """
        import pandas as pd

        from .tables import EdgeRow, edge_rows

        return pd.DataFrame(edge_rows(self), columns=list(EdgeRow._fields))

    def summary(self) -> str:
        """Summarise the result in a few lines: the graph, its certainty, what sites do differently, and warnings.

        Examples
        --------
        >>> import fedperi as fp
        >>> print(fp.MPERI().fit(fp.simulate(3, clients=2, samples=500, seed=2).sites).summary())
        M-PERI: ... edges among 3 variables at 2 sites...
        """
        from .tables import summary_text

        return summary_text(self)

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites that took part."""
        return tuple(self.regrets) or tuple(entry["site"] for entry in self.manifest.get("sites", ()))

    @property
    def dropped(self) -> dict[str, str]:
        """The sites that did not take part, and why; the worst regret does not include them."""
        return {entry["site"]: entry["why"] for entry in self.manifest.get("dropped", ())}

    def to_json(self) -> str:
        """Write everything but the transcript as JSON text."""
        from .files.result_file import write_result

        return write_result(self)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what `to_json` wrote."""
        from .files.result_file import read_result

        return read_result(text)

    def save(self, directory: str | Path, overwrite: bool = False) -> Path:
        """Write report.html, edges.csv, result.json, manifest.json and the graph in four formats into a directory.

        The directory is made if needed. A result of `MPERI` also writes summaries.json: the sites' exact means and
        covariances, for `effects`. Delete it before passing the directory on to people who may not have them.

        Parameters
        ----------
        directory : str or Path
            Where to write.
        overwrite : bool
            Whether to replace files that are there. Otherwise they are an error.

        Returns
        -------
        Path
            The directory.

        Examples
        --------
        >>> import fedperi as fp
        >>> import tempfile
        >>> result = fp.IPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in result.save(folder).iterdir())[:4]
        ['edges.csv', 'graph.csv', 'graph.dagitty.txt', 'graph.dot']
        """
        from .files.saving import save

        return save(self, directory, overwrite)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw `graph` on matplotlib axes: arrows for directed edges, dashed lines for undirected ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib Axes
        """
        from ..report import draw

        return draw(self.graph, ax)

    def _repr_html_(self) -> str:
        from html import escape

        from ..report import graph_svg

        return f"<p>{escape(repr(self))}</p>{graph_svg(self.graph)}"

    def __repr__(self) -> str:
        state = "" if self.complete else " (interrupted)"
        edges, sites = with_noun(len(self.graph), "edge"), with_noun(len(self.sites), "site")
        directed, rounds = len(self.graph.directed), with_noun(self.rounds, "round")
        return f"Result({self.method['name']}{state}: {edges}, {directed} directed; {sites}, {rounds})"
