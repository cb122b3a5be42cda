"""Warnings about columns, regrets and findings of the check: each is tied to the number that it comes from."""

from pathlib import Path

import numpy as np
import pandas as pd
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.methods.remarks import MOST_FINDINGS, against_time, found_by_check, high_regrets
from fedperi.tables import check
from fedperi.tables.checks.findings import Finding


def yes_no(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=["smoker", "treated", "stroke"])
    return table.assign(age=rng.normal(50, 9, 200))


def test_many_yes_no_columns_without_tiers() -> None:
    sites = {"Lyon": yes_no(1), "Metz": yes_no(2)}
    warning = "3 of 4 variables are yes/no or categories, and no tiers are given."
    assert any(one.startswith(warning) for one in fp.MPERI().fit(sites).warnings)
    knowledge = fp.Knowledge(tiers=[["age"], ["smoker", "treated"], ["stroke"]])
    assert not any("tiers" in one for one in fp.MPERI(knowledge=knowledge).fit(sites).warnings)
    numbers = {
        name: table.assign(b=table["age"] ** 2, c=1 / table["age"], d=-(table["age"] ** 3))
        for name, table in sites.items()
    }
    assert not any("tiers" in one for one in fp.MPERI().fit(numbers).warnings)


def test_high_regrets_are_named_worst_first() -> None:
    found = high_regrets({"Lyon": 14.2, "Metz": 22.9, "Nice": 10.0}, "adaptive")
    assert ["Metz" in found[0] and "23 nats" in found[0], "Lyon" in found[1], len(found)] == [True, True, 2]
    assert high_regrets({"Lyon": 300.0}, "consensus") == []


def test_a_run_of_iperi_warns_of_high_regrets() -> None:
    sim = fp.simulate(5, clients=3, samples=2000, weights=(0.5, 1.0), intervention="none", seed=3)
    knowledge = fp.Knowledge(forbidden=[pair for a, b in sim.dag.directed for pair in ((a, b), (b, a))])
    result = fp.IPERI(knowledge=knowledge).fit(sim.sites)
    named = [site for site, regret in result.regrets.items() if regret > 10]
    assert named == [site for site in result.sites if any(f"explains {site} much" in one for one in result.warnings)]
    assert named


def test_findings_are_named_without_what_they_show() -> None:
    assert found_by_check([Finding("note", None, (), "fine")]) == []
    many = [Finding("warning", f"s{k}", ("arm",), "levels: 'secret' (1)") for k in range(MOST_FINDINGS + 3)]
    (said,) = found_by_check(many)
    assert said.endswith("s7 (arm); 3 more sites. Run it for details.") and "secret" not in said


def test_a_run_keeps_what_the_check_found(tmp_path: Path) -> None:
    tables = {"Lyon": yes_no(1).assign(rare=["rarity"] + ["common"] * 199), "Metz": yes_no(2).assign(rare="common")}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / f"{name}.csv") for name in tables]
    report = check(files, strict=False)
    (said,) = found_by_check(one for one in report.findings if one.problem != "constant")  # a result has own words
    assert report.ok and "Lyon (rare" in said
    done = fedperi_here("run", *files, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    warnings = fp.load(tmp_path / "out").warnings
    assert said in warnings and not any("rarity" in one for one in warnings)
    for warning in warnings:
        assert " ".join(warning.split()) in " ".join(done.stdout.replace("\n", " ").split())


def test_no_reason_states_an_intervention_as_a_fact() -> None:
    sim = fp.simulate(8, clients=4, samples=1000, seed=3)
    result = fp.IPERI().fit(sim.sites)
    reasons = [edge.words for edge in result.edges if edge.reason == "difference"]
    assert reasons
    for words in reasons:
        assert "as if a local policy" in words and "ask site" in words and "intervention" not in words


def test_arrows_into_variables_that_come_first_are_doubted() -> None:
    truth = fp.PDAG.from_edges([("ldl", "sex"), ("statin", "sex"), ("dosage", "ldl")])
    sites = fp.simulate(truth, clients=4, samples=2000, weights=(0.8, 1.0), intervention="shift", seed=1).sites
    for method in (fp.MPERI, fp.IPERI):
        said = [one for one in method().fit(sites).warnings if "by its name" in one]
        assert len(said) == 1
        assert said[0].startswith(
            "The graph has the arrows ldl -> sex, statin -> sex, but by its name sex comes before"
        )
        known = fp.Knowledge(tiers=[["sex"], ["ldl", "statin", "dosage"]])
        assert not any("by its name" in one for one in method(knowledge=known).fit(sites).warnings)
    assert against_time(truth, fp.Knowledge(required=[("ldl", "sex"), ("statin", "sex")])) == []
    assert against_time(fp.PDAG.from_edges([("sex", "age"), ("age", "age_at_death")]), None) == []
