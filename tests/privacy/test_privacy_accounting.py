"""Prices and their totals: against OpenDP, against closed forms, and by hand."""

import json
import math
import sys

import pytest
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from fedperi.errors import InputError
from fedperi.privacy.accounting import Price, spent, total
from fedperi.privacy.zcdp import zcdp_epsilon, zcdp_rho

epsilons = st.floats(-4, 2).map(lambda x: 10.0**x)
deltas = st.floats(-15, -1).map(lambda x: 10.0**x)
pures = st.floats(-3, 1).map(lambda x: 10.0**x)


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Epsilon of Gaussian noise by its exact curve, in forty digits."""
    from mpmath import erfc, exp, mp, mpf, sqrt

    with mp.workdps(40):
        mu = sqrt(2 * mpf(rho))
        low, high = mpf(0), mpf(1000)
        for _ in range(120):
            e = (low + high) / 2
            exact = (erfc((e / mu - mu / 2) / sqrt(2)) - exp(e) * erfc((e / mu + mu / 2) / sqrt(2))) / 2
            low, high = (e, high) if exact > delta else (low, e)
        return float(high)


def laplace(epsilon: float, count: int = 1) -> Price:
    return Price(epsilon * count, 0.0, laplace=(epsilon, count))


def gaussian(epsilon: float, delta: float) -> Price:
    return Price(epsilon, delta, gaussian=zcdp_rho(epsilon, delta))


# -- zCDP -----------------------------------------------------------------------------------------------------------


def test_conversion_of_the_brief() -> None:
    assert zcdp_epsilon(1 / 18, 1e-6) == pytest.approx(1.557656057, abs=1e-9)


def test_conversion_agrees_with_opendp() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    for rho in (1e-6, 1e-3, 1 / 18, 0.5, 3.0, 50.0):
        noise = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
        curve = dp.c.make_zCDP_to_approxDP(noise)
        for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1):
            theirs = dp.c.make_fix_delta(curve, delta=delta).map(1.0)[0]
            assert zcdp_epsilon(rho, delta) == pytest.approx(theirs, rel=1e-12), (rho, delta)


@given(st.floats(-12, 4).map(lambda x: 10.0**x), deltas)
@settings(max_examples=200)
def test_property_conversion_is_the_minimum_over_alpha(rho: float, delta: float) -> None:
    def bound(a: float) -> float:
        return (1 + a) * rho + (-math.log(delta) - math.log1p(a)) / a - math.log1p(1 / a)

    found = zcdp_epsilon(rho, delta)
    grid = min(bound(10 ** (k / 100)) for k in range(-600, 1600))
    assert found <= max(0.0, grid) * (1 + 1e-12)
    assert found >= grid * (1 - 1e-3) - 1e-12 or grid < 0


@given(epsilons, deltas)
def test_property_inverse_never_exceeds_and_is_tight(epsilon: float, delta: float) -> None:
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon
    assert zcdp_epsilon(rho * (1 + 1e-9), delta) > epsilon * (1 - 1e-12)


@given(epsilons, deltas)
@settings(max_examples=50)
def test_property_conversion_is_above_the_exact_gaussian_curve(epsilon: float, delta: float) -> None:
    exact = gaussian_epsilon(zcdp_rho(epsilon, delta), delta)
    assert exact <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("rho", [0.0, 5e-324, 1e-30, 1.0, 1e30, 1e300])
def test_conversion_at_the_ends_of_floating_point(rho: float, delta: float) -> None:
    assert 0 <= zcdp_epsilon(rho, delta) < math.inf


def test_nothing_costs_nothing() -> None:
    assert zcdp_epsilon(0, 1e-6) == 0
    assert total([], 1e-6).to_dict() == {
        "releases": 0,
        "basic_epsilon": 0.0,
        "basic_delta": 0.0,
        "rho": 0.0,
        "delta": 1e-6,
        "zcdp_epsilon": 0.0,
        "pld_epsilon": 0.0,
    }
    assert spent([], 1e-6) == 0


# -- prices ---------------------------------------------------------------------------------------------------------


def test_rho_by_hand() -> None:
    price = Price(100.0, 1e-6, gaussian=0.25, selections=(0.4, 3), laplace=(0.2, 5))
    assert price.rho == pytest.approx(0.25 + 3 * 0.16 / 8 + 5 * 0.04 / 2, rel=1e-15)


@given(pures, st.integers(1, 50), pures, st.integers(1, 50), epsilons, deltas)
@settings(max_examples=200)
def test_property_price_survives_json(a: float, k: int, b: float, m: int, epsilon: float, delta: float) -> None:
    price = Price(1e5, delta, gaussian=zcdp_rho(epsilon, delta), selections=(a, k), laplace=(b, m))
    assert Price.from_dict(json.loads(json.dumps(price.to_dict()))) == price


BIG = "above 0 and at most 1e+06"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0.0}, f"epsilon of a price is 0.0, but must be a number: {BIG}"),
        ({"epsilon": -1}, f"epsilon of a price is -1, but must be a number: {BIG}"),
        ({"epsilon": math.nan}, f"epsilon of a price is nan, but must be a number: {BIG}"),
        ({"epsilon": math.inf}, f"epsilon of a price is inf, but must be a number: {BIG}"),
        ({"epsilon": "1"}, f"epsilon of a price is '1', but must be a number: {BIG}"),
        ({"epsilon": True}, f"epsilon of a price is True, but must be a number: {BIG}"),
        ({"delta": 1.0}, "delta of a price is 1.0, but must be a number: 0 <= delta < 1"),
        ({"delta": -1e-9}, "delta of a price is -1e-09, but must be a number: 0 <= delta < 1"),
        ({"gaussian": -0.1}, "gaussian of a price is -0.1, but must be a number: 0 to 1e+06"),
        ({"gaussian": math.nan}, "gaussian of a price is nan, but must be a number: 0 to 1e+06"),
        ({"gaussian": None}, "gaussian of a price is None, but must be a number: 0 to 1e+06"),
        (
            {"laplace": (0.1, -1)},
            "laplace of a price is (0.1, -1), but must be (epsilon of one, how many), or (0, 0) for none",
        ),
        (
            {"laplace": (0.1, 1.5)},
            "laplace of a price is (0.1, 1.5), but must be (epsilon of one, how many), or (0, 0) for none",
        ),
        (
            {"selections": 3},
            "selections of a price is 3, but must be (epsilon of one, how many), or (0, 0) for none",
        ),
        (
            {"selections": (0.1, 0)},
            "selections of a price is (0.1, 0), but must be (epsilon of one, how many), or (0, 0) for none",
        ),
        (
            {"selections": (math.nan, 2)},
            f"epsilon of selections in a price is nan, but must be a number: {BIG}",
        ),
        (
            {"gaussian": 0.0},
            "a price names no mechanism: give gaussian, selections or laplace, or it would add up to nothing",
        ),
        (
            {"delta": 0.0},
            "a price claims epsilon 2 at delta 0, but its mechanisms only give no finite epsilon: "
            "claim at least that, or add noise",
        ),
        (
            {"delta": 0.0, "gaussian": 0.0, "laplace": (0.5, 5)},
            "a price claims epsilon 2 at delta 0, but its mechanisms only give epsilon 2.5: "
            "claim at least that, or add noise",
        ),
    ],
)
def test_bad_price(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"epsilon": 2.0, "delta": 1e-6, "gaussian": 1 / 18}
    assert_refused(lambda: Price(**(good | arguments)), message)


@given(epsilons, st.floats(-12, -1).map(lambda x: 10.0**x))
@settings(max_examples=50)
def test_property_a_claim_may_be_as_small_as_the_exact_curve_and_no_smaller(epsilon: float, delta: float) -> None:
    rho = zcdp_rho(epsilon, delta)
    exact = gaussian_epsilon(rho, delta)
    if exact > 1e-6:
        Price(exact, delta, gaussian=rho)
        with pytest.raises(InputError, match="only give"):
            Price(exact * (1 - 1e-5), delta, gaussian=rho)


@pytest.mark.parametrize("values", [None, [], {}, {"epsilon": 1.0}, 3, "price"])
def test_bad_dictionary(values: object) -> None:
    with pytest.raises(InputError, match="a price needs exactly the fields epsilon, delta, gaussian, selections, lap"):
        Price.from_dict(values)


@pytest.mark.parametrize("delta", [0, 1, -1, math.nan, None, "x"])
def test_bad_delta(delta: object) -> None:
    message = rf"^delta is {delta!r}, but must be a number: 0 < delta < 1, well below one over the number of rows$"
    for function in (lambda: zcdp_epsilon(1.0, delta), lambda: zcdp_rho(1.0, delta), lambda: total([], delta)):
        with pytest.raises(InputError, match=message):
            function()


def test_bad_rho_and_epsilon() -> None:
    with pytest.raises(InputError, match=r"^rho is -1, but must be a number: a finite number >= 0$"):
        zcdp_epsilon(-1, 1e-6)
    with pytest.raises(InputError, match=r"^epsilon is 0, but must be a number: above 0"):
        zcdp_rho(0, 1e-6)
    with pytest.raises(InputError, match=r"^epsilon is 1000.*, but must be a number: above 0"):
        zcdp_rho(10**400, 1e-6)


# -- totals ---------------------------------------------------------------------------------------------------------


def test_basic_is_the_exact_sum() -> None:
    totals = total([laplace(0.1)] * 10 + [gaussian(1.0, 1e-6)], 1e-6, pld=False)
    assert totals.basic_epsilon == math.fsum([0.1] * 10 + [1.0]) == 2.0
    assert totals.basic_delta == 1e-6
    assert (totals.releases, totals.pld_epsilon) == (11, None)


@given(epsilons, st.floats(-12, -2).map(lambda x: 10.0**x))
@settings(max_examples=50)
def test_property_one_release_gives_back_its_own_epsilon(epsilon: float, delta: float) -> None:
    price = gaussian(epsilon, delta)
    assert spent([price], delta) <= epsilon
    assert spent([price], delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_pld_of_equal_gaussians_is_the_closed_form(k: int, delta: float, epsilon: float) -> None:
    price = gaussian(epsilon, delta)
    totals = total([price] * k, delta)
    exact = gaussian_epsilon(k * price.rho, delta)
    assert totals.pld_epsilon is not None
    assert exact * (1 - 1e-9) <= totals.pld_epsilon <= exact * (1 + 1e-3)
    assert totals.pld_epsilon < totals.zcdp_epsilon


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("kind", ["laplace", "selections"])
def test_pld_of_few_pure_answers_is_the_sum(k: int, epsilon: float, kind: str) -> None:
    prices = [Price(epsilon, 0.0, **{kind: (epsilon, 1)})] * k
    assert total(prices, 1e-12).pld_epsilon == pytest.approx(k * epsilon, rel=2e-3)


def test_pld_of_one_laplace_answer_is_its_curve() -> None:
    """The curve is delta = 1 - exp((epsilon - epsilon_0) / 2)."""
    assert total([laplace(1.0)], 0.1).pld_epsilon == pytest.approx(1 + 2 * math.log(0.9), rel=1e-4)


def test_pld_of_randomised_response_is_its_curve() -> None:
    """k answers: delta is the sum over j of C(k, j) max(0, e^(j e) - e^(target) e^((k - j) e)) / (1 + e^e)^k."""
    epsilon, k, target = 0.3, 12, 1.5
    delta = (
        math.fsum(
            math.comb(k, j) * max(0.0, math.exp(j * epsilon) - math.exp(target + (k - j) * epsilon))
            for j in range(k + 1)
        )
        / (1 + math.exp(epsilon)) ** k
    )
    found = total([Price(k * epsilon, 0.0, selections=(epsilon, k))], delta).pld_epsilon
    assert found is not None
    assert target * (1 - 1e-9) <= found <= target * 1.002


def test_pld_of_a_mixture_is_below_zcdp_of_its_pure_bounds() -> None:
    mixed = Price(20.0, 1e-6, gaussian=0.05, selections=(0.1, 20), laplace=(0.02, 300))
    totals = total([mixed, gaussian(1.0, 1e-6), laplace(0.5)], 1e-6)
    as_pure = totals.rho + 20 * 0.1**2 * (1 / 2 - 1 / 8)
    assert totals.pld_epsilon is not None
    assert totals.pld_epsilon < zcdp_epsilon(as_pure, 1e-6)
    assert totals.pld_epsilon > gaussian_epsilon(0.05 + zcdp_rho(1.0, 1e-6), 1e-6)


def test_pld_is_silent_where_its_arithmetic_does_not_reach() -> None:
    assert total([laplace(0.1)], 1e-13).pld_epsilon is None
    assert total([laplace(1e-3, 1000)], 1e-12).pld_epsilon is None
    assert total([laplace(1e-4, 10**6 + 1)], 1e-6).pld_epsilon is None
    assert total([laplace(800.0)], 1e-6).pld_epsilon is None


def test_without_dp_accounting_only_pld_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    prices = [gaussian(1.0, 1e-6), laplace(0.1)]
    full, before = total(prices, 1e-6), spent(prices, 1e-6)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    bare = total(prices, 1e-6)
    assert bare.pld_epsilon is None
    assert full.pld_epsilon is not None
    assert full.to_dict() | {"pld_epsilon": None} == bare.to_dict()
    assert spent(prices, 1e-6) == before


def test_spent_takes_the_sum_where_its_delta_fits() -> None:
    few, many = [laplace(0.1)] * 3, [laplace(0.1)] * 2000
    assert spent(few, 1e-6) == math.fsum([0.1] * 3)
    assert spent(many, 1e-6) == zcdp_epsilon(math.fsum([0.1**2 / 2] * 2000), 1e-6) < 200
    tight = Price(1.45, 1e-6, gaussian=1 / 18)  # claimed by the exact curve, below what zCDP gives
    assert spent([tight], 1e-6) == 1.45
    assert spent([tight], 0.9e-6) == zcdp_epsilon(1 / 18, 0.9e-6)
    # ten times 1e-6 is a little more than 1e-5 in floating point, and still fits
    assert spent([Price(0.1, 1e-6, laplace=(0.1, 1))] * 10, 1e-5) == 1.0


@given(st.lists(st.one_of(pures.map(laplace), epsilons.map(lambda e: gaussian(e, 1e-6))), max_size=5), pures)
@settings(max_examples=100)
def test_property_a_further_release_never_lowers_what_is_spent(prices: list[Price], epsilon: float) -> None:
    assert spent([*prices, laplace(epsilon)], 1e-5) >= spent(prices, 1e-5)
