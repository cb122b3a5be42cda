"""Which sites can take part in one run, if some do not fit the others."""

from dataclasses import replace

import pytest

import fedperi as fp
from fedperi.coordinator.agreement import agree_most
from fedperi.errors import InputError
from fedperi.protocol.requests import Card
from fedperi.tables.schema import Column


def test_min_sites_covers_a_site_that_does_not_fit() -> None:
    age, sex = Column("age", "continuous"), Column("sex", "categorical", ("f", "m"))
    good = [Card(name, (age, sex)) for name in ("east", "north", "south")]
    for odd, why in (
        (Card("odd", (age,)), "site 'odd' lacks the column sex, which 'east' has"),
        (Card("odd", (age, Column("sex", "categorical", ("m", "f")))), "column 'sex' has different levels"),
        (Card("odd", (age, sex), version="9.9.1"), "site 'odd' has fedperi 9.9.1, and the coordinator"),
        (Card("odd", (age, sex), data="mixed"), "site 'odd' as 'mixed'"),
        (Card("odd", (age, sex), penalty=2.0), "site 'odd' of 2"),
    ):
        columns, others = agree_most([*good, odd], least=3)
        assert columns == (age, sex) and list(others) == ["odd"] and why in others["odd"]
        with pytest.raises(InputError):
            agree_most([*good, odd], least=4)
        if odd.version == good[0].version:
            with pytest.raises(InputError):
                agree_most([good[0], odd], least=1)  # neither is the odd one
    patch = Card("odd", (age, sex), version=f"{fp.__version__.rsplit('.', 1)[0]}.99")
    assert agree_most([*good, patch], least=4) == ((age, sex), {})


def test_private_releases_need_the_same_bounds_before_anybody_pays() -> None:
    """Before: sites with other bounds agreed, all paid, and then their statements were refused."""
    promise = {"mechanism": "statistics", "epsilon": 1.0, "delta": 1e-6}
    east, north = (Card(site, (Column("age", "continuous", None, (0, high)),), promise) for site, high in SITES)
    with pytest.raises(
        InputError, match=r"column 'age' has different bounds at site 'east' and at site 'north', and private"
    ):
        agree_most([east, north])
    exact = Card("west", (Column("age", "continuous"),), channel="moments")
    columns, _ = agree_most([east, exact])  # an exact summary has no units of its own
    assert columns[0].bounds is None
    asked = replace(north, channel="regrets"), replace(east, channel="regrets")
    assert agree_most(asked)[0][0].bounds is None  # there bounds only limit the noise


SITES = (("east", 120), ("north", 110))
