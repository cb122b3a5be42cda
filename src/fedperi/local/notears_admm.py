"""A site's half of NOTEARS-ADMM: regressions of every variable on the others, drawn towards the common ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Payload = dict[str, Any]
State = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


class NotearsWorker:
    """A site's half of linear `fedperi.NotearsADMM`.

    Step ``update`` takes the common weights W, the strength of the pull towards them and the number of rows of all
    sites; it sends the site's own weights B, p x p numbers. **The coordinator can compute the site's covariance matrix
    from them**: with duals D, which it can track, S (I - B) = rho (B - W) + D, outside the diagonal if loops are
    excluded. Two rounds determine S; one, if they are not. Rows and means are not sent, and do not follow from it.

    Parameters
    ----------
    rows : array, shape (n, p)
        The site's table as numbers.
    site : str
        Its name.
    """

    def __init__(self, rows: Floats, site: str) -> None:
        self.rows, self.site = rows, site

    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Answer a step; the state holds second moments, so that rows are looked at once."""
        p = self.rows.shape[1]
        common, rho = consensus_step(self, kind, payload, p * p)
        state = state or {"moments": second_moments(self.rows, self.site), "dual": np.zeros(p * p)}
        dual = updated_dual(state, common)
        # Sites count by their rows, so that the sum over sites is the loss on all rows.
        moments = state["moments"] * (len(self.rows) / float(payload["total"]))
        own = local_weights(moments, common.reshape(p, p), dual.reshape(p, p), rho, bool(payload["loops"])).ravel()
        return {"parameters": own}, {**state, "dual": dual, "own": own, "rho": np.array(rho)}


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
    # A multiplier for every B_jj = 0 moves column j along column j of the inverse.
    out: Floats = free - inverse * (np.diag(free) / np.diag(inverse))
    np.fill_diagonal(out, 0.0)
    return out


def consensus_step(worker: Any, kind: str, payload: Payload, size: int) -> tuple[Floats, float]:
    """Check a step of consensus ADMM; return the common parameters and the strength of the pull towards them."""
    if kind != "update":
        raise InputError(f"NOTEARS-ADMM has no step {kind!r}")
    n, p = worker.rows.shape
    if n < max(2, p):
        raise InputError(
            f"site {worker.site!r} has {n} rows for {p} variables, too few to learn from: give it more rows, or leave "
            "the site or some variables out"
        )
    try:
        common, rho, total = (np.asarray(payload[name], float) for name in ("parameters", "rho", "total"))
        good = common.shape == (size,) and bool(np.isfinite(common).all()) and isinstance(payload["loops"], bool)
        good = good and bool(0 < rho < np.inf) and bool(n <= total < np.inf)
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise InputError(f"site {worker.site!r} got a step 'update' of NOTEARS-ADMM that it cannot read")
    return common, float(rho)


def updated_dual(state: State, common: Floats) -> Floats:
    """Count the last disagreement: the common parameters that arrive now are those found from the last answer."""
    dual: Floats = state["dual"]
    return dual + state["rho"] * (state["own"] - common) if "own" in state else dual


def second_moments(rows: Floats, site: str) -> Floats:
    """Covariance matrix of a table, with 1/n."""
    with np.errstate(all="ignore"):
        centred = rows - rows.mean(axis=0)
        moments: Floats = centred.T @ centred / len(rows)
    if not np.isfinite(moments).all():
        raise InputError(f"site {site!r} has numbers too large to be squared; bring all columns to a similar scale")
    return moments
