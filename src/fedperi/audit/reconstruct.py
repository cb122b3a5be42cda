"""What regrets reveal: a site's correlations and its graph, from the answers of a run alone, without any table.

One parent changes a local score by ``-(n/2) log(1 - r^2) - penalty``. `n` is sent at the beginning, the penalty is
known, and regrets have the same differences as scores. So single parents give every ``|r|``. Pairs of parents give the
signs, because the determinant of three variables contains the product of their correlations. (Changing the sign of a
column changes no score, so signs are known up to this.) A mask hides little. With "adaptive", a variable that is too
weak alone becomes visible beside a stronger one. With "consensus", regrets that stay exactly equal show the edges of
the site's graph.

The attack treats every variable as one numeric column. Its result is checked against all answers that it used
(`SiteFound.misfit`), so that the attacker can see where this assumption is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..coordinator.record import Transcript
from ..discovery.ges.ges import ges_fit
from ..errors import InputError
from ..graph.pdag import PDAG
from ..protocol.messages import Families, Settings, Welcome
from ..scores.gaussian import GaussianScore
from .correlations import CorrelationSolver, Floats, gains_of

LEAST = 1e-6
"""Smallest eigenvalue of a correlation matrix before it is scored."""


@dataclass(frozen=True, eq=False)
class SiteFound:
    """What was reconstructed of one site.

    Attributes
    ----------
    site : str
    correlation : array, shape (p, p)
        Its correlations, up to the sign of each variable.
    graph : PDAG
        The CPDAG that the site learns alone.
    misfit : float
        Largest difference, in nats, between an answer and the value that these correlations imply.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.IPERI(masking="none").fit(fp.simulate(3, clients=1, samples=100).sites)
    >>> reconstruct(result.transcript)[0].misfit < 1e-6
    True
    """

    site: str
    correlation: Floats
    graph: PDAG
    misfit: float


def reconstruct(transcript: Transcript) -> tuple[SiteFound, ...]:
    """Recover every site's correlations and graph from a transcript.

    Examples
    --------
    >>> import numpy as np
    >>> import fedperi as fp
    >>> sim = fp.simulate(4, clients=2, samples=500, seed=3)
    >>> found = reconstruct(fp.IPERI().fit(sim.sites).transcript)[0]
    >>> true = np.corrcoef(sim.sites[0].to_numpy().T)
    >>> bool(np.abs(np.abs(found.correlation) - np.abs(true)).max() < 1e-6), found.graph == fp.ges(sim.sites[0])
    (True, True)
    """
    answers = _answers(transcript)
    return tuple(
        _site(welcome, transcript.settings, {key: float(values[k]) for key, values in answers.items()})
        for k, welcome in enumerate(transcript.sites)
    )


@dataclass(frozen=True)
class Closeness:
    """How close a reconstruction is to the truth, over all sites.

    Attributes
    ----------
    largest_error, typical_error : float
        Largest and median absolute error of a correlation, with the best choice of signs of variables.
    exact_graphs : float
        Share of sites whose graph was found exactly.
    """

    largest_error: float
    typical_error: float
    exact_graphs: float


def closeness(
    found: tuple[SiteFound, ...], correlations: Mapping[str, ArrayLike], graphs: Mapping[str, PDAG]
) -> Closeness:
    """Compare a reconstruction with every site's true correlations and graph, which only a test can know.

    Parameters
    ----------
    found : tuple of SiteFound
    correlations : mapping of str to array_like
        Correlation matrices by site, variables in the order of the run.
    graphs : mapping of str to PDAG
        By site.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi import PDAG
    >>> graph = PDAG.from_edges(undirected=[("A", "B")])
    >>> found = SiteFound("north", np.array([[1, -0.5], [-0.5, 1]]), graph, 0.0)
    >>> closeness((found,), {"north": [[1, 0.6], [0.6, 1]]}, {"north": graph})
    Closeness(largest_error=0.1, typical_error=0.1, exact_graphs=1.0)
    """
    missing = [site.site for site in found if site.site not in correlations or site.site not in graphs]
    if missing:
        raise InputError(f"nothing to compare site {missing[0]!r} with: give its true correlations and graph")
    errors = np.concatenate([_errors(site.correlation, correlations[site.site]) for site in found])
    exact = [site.graph == graphs[site.site].reordered(site.graph.names) for site in found]
    return Closeness(
        round(float(errors.max(initial=0.0)), 12), round(float(np.median(errors)), 12), float(np.mean(exact))
    )


# -- what was said ----------------------------------------------------------------------------------------------------


def _answers(transcript: Transcript) -> dict[tuple[int, int], Floats]:
    """Regrets of all parent sets of at most two members: (node, bit set) to one number per site."""
    out: dict[tuple[int, int], Floats] = {}
    for questions, replies in transcript.rounds:
        for question, reply in zip(questions, replies, strict=True):
            if isinstance(question, Families):
                fixed, free = question.fixed.shape[1], question.free.shape[1]
                subsets = [0, *(1 << t for t in range(free)), *(1 << t | 1 << u for t in range(free) for u in range(t))]
                for subset in subsets:
                    if subset.bit_count() + fixed <= 2:
                        chosen = [t for t in range(free) if subset >> t & 1]
                        members = np.column_stack([question.fixed, question.free[:, chosen]])
                        sets = (1 << members).sum(axis=1).tolist()
                        out |= {
                            (i, s): reply[:, row, subset]
                            for row, (i, s) in enumerate(zip(question.nodes.tolist(), sets, strict=True))
                        }
    return out


# -- what it reveals --------------------------------------------------------------------------------------------------


def _site(welcome: Welcome, settings: Settings, regrets: Mapping[tuple[int, int], float]) -> SiteFound:
    seen = gains_of(welcome, settings, regrets)
    r = CorrelationSolver(seen).solve()
    if seen.mask == "consensus":
        graph = PDAG(seen.edges.T, welcome.names)
    else:
        graph = ges_fit(GaussianScore(_definite(r), welcome.n, welcome.names, penalty=settings.penalty)).graph
    misfit = seen.misfit(r, *np.nonzero(np.isfinite(seen.two)))
    return SiteFound(welcome.site, r, graph, float(misfit.max(initial=0.0)))


def _definite(r: Floats) -> Floats:
    """Make all eigenvalues of a correlation matrix positive, so that it can be scored."""
    smallest = float(np.linalg.eigvalsh(r)[0])
    share = max(0.0, (LEAST - smallest) / (1 - smallest)) if smallest < LEAST else 0.0
    out: Floats = (1 - share) * r + share * np.eye(len(r))
    return out


def _errors(found: Floats, true: ArrayLike) -> Floats:
    """Absolute errors of all pairs; the sign of every variable is chosen along its strongest known correlations."""
    truth = np.asarray(true, dtype=np.float64)
    if truth.shape != found.shape:
        raise InputError(f"the true correlations have shape {truth.shape}, those that were found {found.shape}")
    agree = truth * found
    sign = np.zeros(len(truth))
    while (sign == 0).any():
        reached = sign != 0
        if not reached.any():
            sign[0] = 1.0
            continue
        bridge = np.where(reached[:, None] & ~reached[None, :], np.abs(agree), -1.0)
        i, j = np.unravel_index(int(np.argmax(bridge)), bridge.shape)
        sign[j] = sign[i] * (1.0 if agree[i, j] >= 0 else -1.0)
    upper = np.triu_indices(len(truth), 1)
    return np.asarray(np.abs(truth - found * np.outer(sign, sign))[upper])
