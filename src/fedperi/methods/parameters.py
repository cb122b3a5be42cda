"""Conventions that users of scikit-learn expect of a method: `get_params`, `set_params`, `clone`, `random_state`."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from ..errors import InputError
from ..option_values import check_whole
from ..tables.in_threads import cores


@dataclass(frozen=True)
class Parameters:
    """Options that can be read and replaced by name. Methods are immutable: replacing returns a new one.

    Examples
    --------
    >>> import fedperi as fp
    >>> method = fp.FCI(alpha=0.05)
    >>> method.get_params()["alpha"]
    0.05
    >>> method.set_params(alpha=0.001).alpha, method.alpha
    (0.001, 0.05)
    """

    _aliases: ClassVar[dict[str, str]] = {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name; `deep` exists for scikit-learn, and has no effect."""
        return {option.name: getattr(self, option.name) for option in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Return this method with other options. Unlike in scikit-learn, the method itself stays as it is."""
        known = [option.name for option in fields(self)]
        for name in params:
            if self._aliases.get(name, name) not in known:
                raise InputError(f"{type(self).__name__} has no option {name!r}; it has {', '.join(known)}")
        for alias, name in self._aliases.items():
            if alias in params and name in params:
                raise InputError(f"{alias} is another name of {name}: give one of them")
        # __post_init__ resolves aliases, and must not see the old value of the option beside the alias.
        old = {
            name: type(self).__dataclass_fields__[name].default
            for alias, name in self._aliases.items()
            if alias in params
        }
        return replace(self, **old, **params)


@dataclass(frozen=True)
class Seeded(Parameters):
    """A method with a seed, which may be given as `random_state`; it is kept as `seed`.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.MPERI(random_state=7) == fp.MPERI(seed=7)
    True
    >>> fp.MPERI(seed=1, random_state=7)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: seed=1 and random_state=7 say different things: give one of them
    """

    _aliases: ClassVar[dict[str, str]] = {"random_state": "seed"}

    random_state: InitVar[int | None] = field(default=None, kw_only=True)

    def __post_init__(self, random_state: int | None) -> None:
        if random_state is None:
            return
        check_whole("random_state", random_state)
        seed = vars(self)["seed"]
        if seed not in (0, random_state):
            raise InputError(f"seed={seed} and random_state={random_state} say different things: give one of them")
        object.__setattr__(self, "seed", random_state)


@dataclass(frozen=True)
class Parallel(Seeded):
    """A method that processes several sites in parallel; `jobs` may be given as `n_jobs`, and -1 means all cores.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.IPERI(n_jobs=2) == fp.IPERI(jobs=2)
    True
    """

    _aliases: ClassVar[dict[str, str]] = {**Seeded._aliases, "n_jobs": "jobs"}

    n_jobs: InitVar[int | None] = field(default=None, kw_only=True)

    def __post_init__(self, random_state: int | None, n_jobs: int | None) -> None:
        super().__post_init__(random_state)
        if n_jobs is None:
            return
        if n_jobs != -1:
            check_whole("n_jobs", n_jobs, 1)
        wanted, jobs = cores() if n_jobs == -1 else n_jobs, vars(self)["jobs"]
        if jobs not in (None, wanted):
            raise InputError(f"jobs={jobs} and n_jobs={n_jobs} say different things: give one of them")
        object.__setattr__(self, "jobs", wanted)
