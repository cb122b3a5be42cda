"""M-PERI at two confidences: computed once, with the numbers of two separate fits."""

from typing import Any

import pytest

import fedperi as fp
from fedperi.benchmark.contenders import Problem, scoring_once, solve
from fedperi.benchmark.fitting import fit_cell


def _cell(method: str, setting: str) -> dict[str, Any]:
    where = {"task": "fit", "setting": setting, "p": 5, "clients": 5, "samples": 400, "seed": 4}
    return fit_cell({**where, "method": method}) | {"cpu_s": 0}


@pytest.mark.parametrize("setting", ["mixed", "nothing shared", "own strengths, curved"])
def test_cached_scores_change_no_number(setting: str) -> None:
    first, second = _cell("mperi", setting), _cell("mperi-75", setting)
    scoring_once.forget()
    assert _cell("mperi-75", setting) == second
    assert _cell("mperi", setting) == first


def test_other_tables_are_scored_again_and_the_time_counts_for_both() -> None:
    one, other = (fp.simulate(4, clients=3, samples=300, intervention="shift", seed=seed) for seed in (1, 2))
    for name in ("mperi", "mperi-75"):  # the first fit of each warms up, on tables of its own
        solve(name, Problem(other.sites), 60)
    found, seconds = solve("mperi", Problem(one.sites), 60)
    again, both = solve("mperi-75", Problem(one.sites), 60)
    assert found.before == 0 and 0 < again.before < both and again.before < seconds
    assert solve("mperi", Problem(other.sites), 60)[0].before == 0
    assert solve("mperi", Problem(list(one.sites)), 60)[0].before == 0
