"""Methods follow the conventions of scikit-learn, without needing it."""

from typing import Any

import pytest

import fedperi as fp

SEEDED = [fp.MPERI, fp.IPERI, fp.PERI, fp.NotearsADMM, fp.FedDAG, fp.FedCDH]


@pytest.mark.parametrize("method", [*SEEDED, fp.FCI])
def test_options_are_read_and_replaced(method: Any) -> None:
    one = method(knowledge=fp.Knowledge(forbidden=[("a", "b")])) if method in (fp.MPERI, fp.FCI) else method()
    assert method(**one.get_params()) == one
    other = one.set_params(missing="drop")
    assert other.missing == "drop" and one.missing != "drop" and type(other) is method
    with pytest.raises(fp.InputError, match=f"{method.__name__} has no option 'sead'; it has "):
        one.set_params(sead=1)


@pytest.mark.parametrize("method", SEEDED)
def test_random_state_is_the_seed(method: Any) -> None:
    assert method(random_state=3) == method(seed=3) == method(seed=5).set_params(random_state=3)
    assert method(seed=3, random_state=3).seed == 3
    assert "random_state" not in method(random_state=3).get_params()
    with pytest.raises(fp.InputError, match="seed=2 and random_state=3 say different things"):
        method(seed=2, random_state=3)
    with pytest.raises(fp.InputError, match="random_state is another name of seed"):
        method().set_params(seed=2, random_state=3)
    with pytest.raises(fp.InputError, match="random_state must be a whole number"):
        method(random_state="now")


@pytest.mark.parametrize("method", [fp.IPERI, fp.PERI])
def test_n_jobs_is_jobs(method: Any) -> None:
    assert method(n_jobs=2) == method(jobs=2) == method(jobs=4).set_params(n_jobs=2)
    assert method(n_jobs=-1).jobs >= 1
    with pytest.raises(fp.InputError, match="jobs=4 and n_jobs=2 say different things"):
        method(jobs=4, n_jobs=2)
    with pytest.raises(fp.InputError, match="n_jobs must be a whole number, 1 or more, not 0"):
        method(n_jobs=0)
    with pytest.raises(TypeError):
        fp.MPERI(n_jobs=2)  # it has nothing to do in parallel, and an option without effect would mislead


@pytest.mark.parametrize("method", [*SEEDED, fp.FCI])
def test_scikit_learn_clones_methods(method: Any) -> None:
    base = pytest.importorskip("sklearn.base")
    one = method(missing="drop")
    assert base.clone(one) == one and base.clone(one) is not one
    if method is fp.MPERI:
        private = method(privacy=fp.Privacy(epsilon=1.0), knowledge=fp.Knowledge(forbidden=[("a", "b")]))
        assert base.clone(private).get_params().keys() == private.get_params().keys()
        assert base.clone(private).privacy.epsilon == 1.0


def test_arrays_go_in_and_networkx_comes_out() -> None:
    sim = fp.simulate(3, clients=2, samples=300, seed=1)
    from_arrays = fp.MPERI(progress=False).fit([table.to_numpy() for table in sim.sites])
    assert from_arrays.graph == fp.MPERI(progress=False).fit(sim.sites).graph
    assert list(from_arrays.graph.to_networkx().nodes) == ["X0", "X1", "X2"]
    with pytest.raises(fp.InputError, match="a table must be a pandas DataFrame"):
        fp.MPERI().fit([table.to_numpy()[:, 0] for table in sim.sites])
