"""The methods of this package as contenders, with controls and limits."""

from __future__ import annotations

from typing import Any

from .contender import Fit, Found, Problem


def method(name: str, **options: Any) -> Fit:
    """Run a method of the package; for curved data its non-linear form, if it has one."""

    def fit(problem: Problem) -> Found:
        import fedperi as fp

        more: dict[str, Any] = {}
        if problem.curved and name == "NotearsADMM":
            more = {"model": "mlp"}
        elif name in ("IPERI", "PERI"):
            more = _data_option(problem)
        result = getattr(fp, name)(progress=False, **options, **more).fit(problem.named)
        return Found(result.graph, result.rounds, result=result)

    return fit


def mperi(**options: Any) -> Fit:
    """Run M-PERI, with the differences that it names; the same tables are scored once for all confidences."""

    def fit(problem: Problem) -> Found:
        from .scoring_once import fit_once

        result, before = fit_once(problem.sites, problem.named, options | _data_option(problem))
        places = {site: k for k, site in enumerate(problem.named)}
        named = frozenset((places[one.site], one.variable) for one in result.differences or ())
        return Found(result.graph, result.rounds, named=named, result=result, before=before)

    return fit


def _data_option(problem: Problem) -> dict[str, Any]:
    return {"data": "nonlinear"} if problem.curved else {}


def best_alone(local: str) -> Fit:
    """Choose the graph of the best single site, with the truth."""

    def fit(problem: Problem) -> Found:
        import fedperi as fp

        dag = problem.truth.dag
        graphs = [getattr(fp, local)(table) for table in problem.named.values()]
        return Found(min(graphs, key=lambda graph: (fp.shd(graph, dag), -fp.f1(graph, dag))))

    return fit


def pooled_ges(problem: Problem) -> Found:
    """Run our own GES on all rows in one table."""
    import fedperi as fp

    from ...methods.controls import pooled_table

    return Found(fp.ges(pooled_table(problem.named)))


def oracle_cpdag(problem: Problem) -> Found:
    """Return the limit for observational data."""
    return Found(problem.truth.cpdag)


def oracle_phi(problem: Problem) -> Found:
    """Return the limit if only missing edges are used, closed under Meek's rules."""
    import fedperi as fp

    return Found(fp.meek_closure(problem.truth.phi_cpdag))


def oracle_targets(problem: Problem) -> Found:
    """Return the limit for known targets: the I-CPDAG."""
    import fedperi as fp

    targets = problem.truth.targets
    named = frozenset((k, variable) for k, some in enumerate(targets) for variable in some)
    return Found(fp.i_cpdag(problem.truth.dag, targets), named=named)
