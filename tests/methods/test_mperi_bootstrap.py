"""A bootstrap from summaries: no rows, the stated noise, the same draws for the same seed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedperi as fp
from fedperi.errors import InputError
from fedperi.methods.mperi.redraw import redrawn_summary
from fedperi.privacy import Privacy, release_table
from fedperi.privacy.release.summaries import released_summaries

pytestmark = pytest.mark.filterwarnings("ignore:test_seed")


@pytest.fixture(scope="module")
def sim() -> Any:
    return fp.simulate(4, clients=3, samples=1000, intervention="shift", seed=3)


def summaries(sim: Any) -> list[fp.Summary]:
    return [fp.Summary.of(table, name=f"site {k}") for k, table in enumerate(sim.sites)]


def releases(sim: Any) -> list[Any]:
    privacy = Privacy(1.0, bounds=dict.fromkeys(sim.dag.names, (-10, 10)), test_seed=0)
    return [release_table(table, privacy, name=f"site {k}")[0] for k, table in enumerate(sim.sites)]


def test_summaries_give_stability_and_the_same_graph(sim: Any) -> None:
    parts = summaries(sim)
    plain, drawn = (fp.MPERI(bootstrap=count, progress=False).fit(parts) for count in (0, 5))
    assert plain.graph == drawn.graph and plain.probabilities.equals(drawn.probabilities)
    assert (plain.stability, plain.replicates) == ((), 0)
    assert drawn.replicates == 5 and drawn.complete
    assert all(sum(edge[2:]) == pytest.approx(1) for edge in drawn.stability)
    assert fp.MPERI(bootstrap=5, progress=False).fit(parts).stability == drawn.stability


def test_releases_give_stability(sim: Any) -> None:
    result = fp.MPERI(bootstrap=3, progress=False).fit(releases(sim))
    assert result.replicates == 3 and result.stability


def test_draws_scatter_as_rows_do_and_noise_adds_to_it(sim: Any) -> None:
    """Seeded. The variance of n normal values has the relative standard error sqrt(2 / n)."""
    exact = summaries(sim)[0]
    spread = np.std([redrawn_summary(exact, k).covariance[0, 0] for k in range(400)])
    assert spread / exact.covariance[0, 0] == pytest.approx(np.sqrt(2 / 1000), rel=0.15)
    noisy = released_summaries(releases(sim))[0]
    assert noisy.noise is not None and noisy.noise.covariance is not None
    silent = replace(noisy, noise=replace(noisy.noise, mean=None, covariance=None))
    more, less = (np.std([redrawn_summary(one, k).covariance[0, 1] for k in range(400)]) for one in (noisy, silent))
    assert more**2 - less**2 == pytest.approx(noisy.noise.covariance[0, 1] ** 2, rel=0.3)


def test_what_is_constant_stays_constant(sim: Any) -> None:
    table = sim.sites[0].copy()
    table["X0"] = 1.0
    drawn = redrawn_summary(fp.Summary.of(table, name="north"), 0)
    assert drawn.constant == ("X0",) and drawn.mean[0] == 1.0


def test_a_bootstrap_is_a_whole_number() -> None:
    with pytest.raises(InputError, match="bootstrap"):
        fp.MPERI(bootstrap=-1)
