"""Measures of a graph, and of what a method says about sites: numbers for one line of cells.jsonl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..graph.pdag import PDAG
    from .contenders import Found
    from .settings import Setting, World


def graph_measures(graph: PDAG, truth: PDAG) -> dict[str, Any]:
    """Compute SHD, F1, and numbers of directions: right, wrong (reversed, or no true edge), open (undirected edges).

    The adjustment distance is gadjid's, by ancestors, as a share of the ordered pairs; None if gadjid is not installed,
    or refuses the graph because it is neither a DAG nor a CPDAG.

    Examples
    --------
    >>> import fedperi as fp
    >>> found = graph_measures(fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")]).reordered(["A", "B"]))
    >>> found["shd"], found["right"], found["wrong"], found["open"]
    (2, 0, 1, 0)
    """
    import fedperi as fp

    graph = graph.reordered(truth.names)
    try:
        distance: float | None = fp.adjustment_distance(graph, truth)[0]
    except InputError:
        distance = None
    return {
        "shd": fp.shd(graph, truth),
        "f1": fp.f1(graph, truth),
        "skeleton_f1": fp.skeleton_f1(graph, truth),
        "edges": len(graph),
        "true_edges": len(truth),
        "right": len(graph.directed & truth.directed),
        "wrong": len(graph.directed - truth.directed),
        "open": len(graph.undirected),
        "adjustment": distance,
    }


def policy_measures(found: Found, world: World, setting: Setting) -> dict[str, Any]:
    """Count the policies that are found, and the reported differences that are not policies.

    They are pairs of site and variable; for methods that report no sites, variables.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.benchmark.contenders import Found
    >>> from fedperi.benchmark.settings import SETTINGS
    >>> sim = fp.simulate(4, clients=3, samples=10, intervention="shift")
    >>> right = frozenset((k, name) for k, some in enumerate(sim.targets) for name in some)
    >>> policy_measures(Found(sim.dag, named=right), sim, SETTINGS["shift"])
    {'policies': 2, 'named': 2, 'named_wrongly': 0}
    """
    true = {(k, name) for k, some in enumerate(world.targets) for name in some if name not in setting.ignored}
    if found.named is not None:
        said: set[Any] = {pair for pair in found.named if pair[1] not in setting.ignored}
        return {"policies": len(true), "named": len(said & true), "named_wrongly": len(said - true)}
    if found.changing is not None:
        changed = {name for _, name in true}
        said = {name for name in found.changing if name not in setting.ignored}
        return {"policies": len(changed), "named": len(said & changed), "named_wrongly": len(said - changed)}
    return {}


def stated_directions(found: Found, truth: PDAG) -> dict[str, Any]:
    """List the more probable direction of each pair with at least probability 1/2: probability, and whether right.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.benchmark.contenders import Found
    >>> sim = fp.simulate(3, clients=3, samples=500, intervention="shift")
    >>> result = fp.MPERI().fit(sim.sites)
    >>> stated_directions(Found(result.graph, result=result), sim.dag)["stated"][0]
    [..., 1]
    """
    if found.result is None or not found.result.probable:
        return {}
    stated = []
    for a, b, forward, backward, _ in found.result.probabilities.itertuples(index=False):
        chance, pair = max((forward, (a, b)), (backward, (b, a)))
        if chance >= 0.5:
            stated.append([round(float(chance), 4), int(pair in truth.directed)])
    return {"stated": stated}
