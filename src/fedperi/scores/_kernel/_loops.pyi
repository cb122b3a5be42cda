"""Types of the functions of `module.c`. Arrays are in C order; results are written into arrays, such as `out`.

A loop returns False if it leaves a case to numpy, whose code has better error messages.
"""

from typing import Any

from numpy import bool_, float64, int64
from numpy.typing import NDArray

Floats = NDArray[float64]
Ints = NDArray[int64]
Bools = NDArray[bool_]

version: int

def scores(
    correlation: Floats,
    first: Ints,
    n: float,
    price: float,
    singular: float,
    variables: Ints,
    out: Floats,
    smallest: Floats,
) -> bool: ...
def extremes(
    correlation: Floats,
    first: Ints,
    n: float,
    price: float,
    singular: float,
    variables: Ints,
    out: Floats,
    smallest: Floats,
) -> bool: ...
def local(
    correlation: Floats,
    first: Ints,
    n: float,
    price: float,
    singular: float,
    variables: Ints,
    starts: Ints,
    out: Floats,
    smallest: Floats,
) -> bool: ...
def best_of_subsets(lattices: Floats) -> bool: ...
def adaptive(lattices: Floats, all: float, some: float) -> bool: ...
def add_up(values: Floats, out: Floats) -> bool: ...
def climb(
    correlation: Floats,
    first: Ints,
    n: float,
    price: float,
    singular: float,
    resolution: float,
    most_steps: int,
    into: Bools,
) -> bool: ...
def order(
    score: Floats,
    bit: Ints,
    lattice: Ints,
    head: Ints,
    begin: Ints,
    first: Ints,
    tail_first: Ints,
    candidates: Bools,
    nodes: Ints,
    place: Ints,
    at: Ints,
    value: Floats,
) -> Any: ...
def best_places(order: Any, some: Ints, resolution: float, gains: Floats, behind: Ints) -> bool: ...
def move(order: Any, node: int, to: int, stale: Bools) -> bool: ...
def move_in_turn(order: Any, some: Ints, behind: Ints, resolution: float, stale: Bools) -> bool: ...
def discrete(codes: Ints, counts: Ints, levels: Ints) -> Any: ...
def discrete_scores(
    table: Any, prior: float, price: float, nodes: Ints, first: Ints, parents: Ints, out: Floats
) -> bool: ...
def discrete_flips(
    table: Any, prior: float, price: float, node: int, parents: Ints, others: Ints, out: Floats
) -> bool: ...
def discrete_lattices(table: Any, prior: float, price: float, nodes: Ints, candidates: Ints, out: Floats) -> bool: ...
def subset_sums(value: Floats, power: Ints) -> bool: ...
def layers(sum: Floats, power: Ints, best: Ints, within: Floats, earlier: Floats, total: Floats) -> bool: ...
def mechanisms(
    moments: Floats,
    first: Ints,
    n: Floats,
    floor: Floats,
    spread: Bools,
    constant: Bools,
    declared: Bools,
    tolerances: Floats,
    others: int,
    price_own: float,
    price_cut: float,
    price_some: float,
    price_tolerance: float,
    margin: float,
    share: bool,
) -> Any: ...
def mechanism_scores(
    mechanisms: Any,
    node: int,
    parents: Ints,
    fixed: int,
    wanted: Bools | None,
    known: Floats | None,
    out: Floats,
    groups: Ints | None,
    tolerances: Floats,
    without: Floats | None,
    others: Floats | None,
) -> bool: ...
def latent_steps(
    moments: Floats,
    n: Floats,
    before: Ints,
    first: Ints,
    effects: Ints,
    groups: Ints,
    weights: Floats,
    variance: Floats,
    steps: int,
) -> bool: ...
def one_factor(correlation: Floats, strongest: float, steps: int, out: Floats) -> bool: ...
def chain(
    first: Ints,
    free: Ints,
    begin: Ints,
    value: Floats,
    power: Ints,
    set_first: Ints,
    sets: Ints,
    set_value: Floats,
    set_power: Ints,
    near_first: Ints,
    near: Ints,
    reach: Floats,
    sizes: Floats,
    random: Ints,
    now: Ints,
    sums: Floats,
    sweeps: int,
) -> bool: ...
