"""A site's half of NOTEARS-ADMM: regressions of every variable on the others, close to the common ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...protocol.worker import Payload, State, StepKind, Worker

Floats = NDArray[np.float64]

MOST_STARTS = 1000
"""Most starts that one message can ask for."""


class NotearsWorker(Worker):
    """A site's half of linear `fedperi.NotearsADMM`.

    Step ``update`` takes common weights W, the penalty rho on the distance from them, and the number of rows of all
    sites, for several starts at once. It sends the site's own weights B for each start, p x p numbers. **The
    coordinator can compute the site's covariance matrix S from them**: with duals D, which it can track, S (I - B) =
    rho (B - W) + D. Without loops the equation holds outside the diagonal and two rounds determine S; with loops, one
    round does. Rows and means are not sent, and do not follow from S. Step ``loss`` takes W of all starts and sends the
    site's share of each loss, one number.
    """

    kinds: ClassVar = {
        "update": StepKind("parameters rho total loops", {"parameters": "weights of the site's own regressions"}),
        "loss": StepKind("parameters total loops", {"loss": "squared errors of the common weights of every start"}),
    }

    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Answer a step; the state keeps second moments, so that rows are read once."""
        p = self.rows.shape[1]
        common, rho = consensus_step(self, kind, payload, p * p)
        state = state or {"moments": second_moments(self.rows, self.site)}
        # Sites are weighted by their rows, so that the sum over sites is the loss on all rows.
        moments = state["moments"] * (len(self.rows) / float(payload["total"]))
        if kind == "loss":
            rest = np.eye(p) - common.reshape(-1, p, p)
            return {"loss": np.einsum("rij,ik,rkj->r", rest, moments, rest) / 2}, state
        dual = updated_dual(state, common)
        loops = bool(payload["loops"])
        starts = zip(common.reshape(-1, p, p), dual.reshape(-1, p, p), rho, strict=True)
        own = np.stack([local_weights(moments, *start, loops).ravel() for start in starts])
        return {"parameters": own}, {**state, "dual": dual, "own": own, "rho": rho}


def local_weights(moments: Floats, common: Floats, dual: Floats, rho: float, loops: bool) -> Floats:
    """Minimise ``tr((I - B)' S (I - B)) / 2 + <D, B - W> + rho / 2 |B - W|^2`` over B, without diagonal unless `loops`.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> local_weights(S, np.zeros((2, 2)), np.zeros((2, 2)), rho=1e-9, loops=False).round(3)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    inverse = np.linalg.inv(moments + rho * np.eye(len(moments)))
    free: Floats = inverse @ (moments + rho * common - dual)
    if loops:
        return free
    # The multiplier for B_jj = 0 changes column j by a multiple of column j of the inverse.
    out: Floats = free - inverse * (np.diag(free) / np.diag(inverse))
    np.fill_diagonal(out, 0.0)
    return out


def consensus_step(worker: Worker, kind: str, payload: Payload, size: int) -> tuple[Floats, Floats]:
    """Check a step of consensus ADMM; return common parameters and the penalty rho, a row for every start.

    In a step ``loss`` the penalty is not used.
    """
    if kind not in worker.kinds:
        raise InputError(f"NOTEARS-ADMM has no step {kind!r}")
    n, p = worker.rows.shape
    if n < max(2, p):
        raise InputError(
            f"site {worker.site!r} has {n} rows for {p} variables, too few to learn from: give it more rows, or leave "
            "the site or some variables out"
        )
    try:
        common, total = (np.asarray(payload[name], float) for name in ("parameters", "total"))
        rho = np.asarray(payload["rho"], float) if kind == "update" else np.ones(len(common))
        good = common.shape == (len(rho), size) and 1 <= len(rho) <= MOST_STARTS and bool(np.isfinite(common).all())
        good = good and bool(((rho > 0) & (rho < np.inf)).all()) and bool(n <= total < np.inf)
        good = good and isinstance(payload["loops"], bool)
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise InputError(f"site {worker.site!r} got a step {kind!r} of NOTEARS-ADMM that it cannot read")
    return common, rho


def updated_dual(state: State, common: Floats) -> Floats:
    """Update the dual by the last disagreement: the common parameters that arrive now follow from the last answer."""
    if "own" not in state:
        return np.zeros_like(common)
    if state["own"].shape != common.shape:
        raise InputError(f"NOTEARS-ADMM continues with {len(common)} starts; it began with {len(state['own'])}")
    out: Floats = state["dual"] + state["rho"][:, None] * (state["own"] - common)
    return out


def second_moments(rows: Floats, site: str) -> Floats:
    """Covariance matrix of a table, with 1/n."""
    with np.errstate(all="ignore"):
        centred = rows - rows.mean(axis=0)
        moments: Floats = centred.T @ centred / len(rows)
    if not np.isfinite(moments).all():
        raise InputError(f"site {site!r} has numbers too large to be squared; bring all columns to a similar scale")
    return moments
