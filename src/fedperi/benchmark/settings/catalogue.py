"""The settings by name."""

from __future__ import annotations

from ...errors import InputError
from .setting import Setting

_VARIED = {"intervention": "varied"}

POLICIES = (
    Setting("cut", "policies cut all arrows into a variable", {"intervention": "structural"}),
    Setting("some cut", "policies cut some of the arrows", {"intervention": "structural", "removal": "some"}),
    Setting("strengths", "policies change the strengths of arrows", {"intervention": "strengths"}),
    Setting("shift", "policies shift a mean", {"intervention": "shift"}),
    Setting("scale", "policies change a spread", {"intervention": "scale"}),
    Setting("mixed", "policies of all these kinds", _VARIED),
    Setting("two targets", "mixed, two variables per policy", {**_VARIED, "targets_per_client": 2}),
    Setting("no policy", "all sites are the same", {"intervention": "none"}),
)
"""Sites share their mechanisms, except for policies."""

BREAKING = (
    Setting("no observational site", "mixed, every site has a policy", {**_VARIED, "observational": False}),
    Setting("own noise levels", "mixed, noise from 1/2 to 2 per variable", {**_VARIED, "noise_levels": (0.5, 2.0)}),
    Setting("standard units", "mixed, columns divided by the standard deviation of all rows", _VARIED, units="common"),
    Setting(
        "own standard units",
        "mixed, each site divides its columns by its own standard deviations",
        _VARIED,
        units="own",
        all_differ=True,
    ),
    Setting("unequal sites", "mixed, sites of 100 to 100,000 rows", _VARIED, rows=(100, 100_000)),
    Setting("drift", "mixed, and every mechanism differs a little (10 %)", {**_VARIED, "drift": 0.1}, all_differ=True),
    Setting("heavy tails", "mixed, noise of Student with 4 degrees of freedom", {**_VARIED, "noise": "student"}),
    Setting("uniform noise", "mixed, uniform noise", {**_VARIED, "noise": "uniform"}),
    Setting(
        "curved", "mixed, effects are tanh, sine or square; methods are not told", {**_VARIED, "mechanism": "nonlinear"}
    ),
    Setting("hidden cause", "mixed, a common cause is in no table", {**_VARIED, "hidden": 1}),
    Setting("measurement error", "mixed, error of .3 standard deviations", {**_VARIED, "measurement_error": 0.3}),
    Setting(
        "nothing shared",
        "strengths, noise levels and means differ everywhere, policies cut arrows",
        {"intervention": "structural", "shared_mechanisms": "nothing"},
        all_differ=True,
    ),
    Setting("clinic", "hospital-like tables, six sites, four policies", clinic=True, ignored=("age", "sex")),
)
"""Further difficulties, including some that violate M-PERI's assumptions."""

PAPER = (
    Setting(
        "own strengths",
        "the paper's simulation: strengths differ everywhere, policies cut arrows",
        {"intervention": "structural", "shared_mechanisms": False},
        all_differ=True,
    ),
    Setting(
        "own strengths, curved",
        "the paper's simulation with effects that are tanh, sine or square; methods are told",
        {"intervention": "structural", "shared_mechanisms": False, "mechanism": "nonlinear"},
        told=True,
        all_differ=True,
    ),
    Setting(
        "own strengths, standard units",
        "the paper's simulation, each site divides its columns by its own standard deviations",
        {"intervention": "structural", "shared_mechanisms": False},
        units="own",
        all_differ=True,
    ),
)
"""The paper's simulations, and the same in standard units."""

SETTINGS = {one.name: one for one in (*POLICIES, *BREAKING, *PAPER)}

GRAPHS = ("stroke", "diabetes", "sepsis", "random")
"""The graphs of `fp.clinic`; seeds use them in turn."""


def setting(name: str) -> Setting:
    """Find a setting by its name.

    Examples
    --------
    >>> setting("cut").words
    'policies cut all arrows into a variable'
    >>> setting("easy")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: there is no setting 'easy'; there are: cut, some cut, ...
    """
    if name not in SETTINGS:
        raise InputError(f"there is no setting {name!r}; there are: {', '.join(SETTINGS)}")
    return SETTINGS[name]
