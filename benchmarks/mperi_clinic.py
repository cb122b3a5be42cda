"""M-PERI on hospital-like tables (`fp.clinic`): directions, policies named, false differences; beside other methods.

For each of four graphs: six sites of 1,000 rows, four of them with one policy each and every site with its own case
mix; ten sites of 2,000 rows where every coefficient drifts by 10 %; and the first again with logarithms of skewed
laboratory values. Directions are right, wrong (reversed, or no
edge there) and open (edges without direction), means per run; "confirmed" are those that hold whichever site is left
out. A policy is named if the result has a difference of that site and variable. A difference is false if the site has
no policy at that variable; age and sex do not count, because the case mix makes them differ, and under drift nothing
does, because everything truly differs a little. Other methods than ours see all rows in one place.

Run: python benchmarks/mperi_clinic.py [--seeds 0 20] [--jobs 2] [--slow 2] [--graphs stroke sepsis]

GnIES takes about a minute per run: it gets the first `--slow` seeds, and a table of its own in which all methods have
these seeds. Started again, the script computes only what is missing (see mperi_cases.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mperi_cases import (
    GRAPHS,
    Case,
    Record,
    Task,
    able,
    arguments,
    cpu_times,
    failures,
    make,
    markdown,
    mean,
    run,
    seeds_of,
    triple,
    ward,
)

SURE, LIKELY = "MPERI()", "MPERI(confidence=0.75)"
CONDITIONS: dict[str, Case] = {
    "6 sites of 1,000 rows": {"sites": 6, "rows": 1000},
    "10 sites of 2,000 rows, drift 0.1": {"sites": 10, "rows": 2000, "drift": 0.1},
    "6 sites of 1,000 rows, logarithms": {"sites": 6, "rows": 1000, "log": True},
}
QUICK, SLOW = ("IPERI()", "UT-IGSP", "GES, pooled"), ("GnIES",)
LIMIT = 200.0
"""CPU seconds after which a peer is stopped."""
Cell = tuple[str, str]


def policies(case: Case, record: Record) -> Record:
    """Policies of a clinic that were named, and differences that are no policies."""
    clinic = make(case)
    true = {(f"site {policy.site}", policy.variable) for site in clinic.policies for policy in site}
    found = {(site, variable) for site, variable in record["differences"]}
    others = {pair for pair in found - true if pair[1] not in ("age", "sex")}
    return {"policies": len(true), "named": len(found & true), "others": len(others)}


def print_directions(cells: Sequence[Cell], names: Sequence[str], of: Callable[[Cell, str], list[Record]]) -> None:
    """Print right / wrong / open of all methods, and of all graphs together."""
    for condition in dict.fromkeys(cell[1] for cell in cells):
        some = [cell for cell in cells if cell[1] == condition]
        rows = []
        for label, group in [*((cell[0], [cell]) for cell in some), ("**all**", some)]:
            records = {name: [one for cell in group for one in of(cell, name)] for name in names}
            confirmed = triple(records[SURE], "confirmed_")
            shown = [triple(found) if found else "-" for found in records.values()]
            rows.append((label, len(records[SURE]), shown[0], confirmed, *shown[1:]))
        head = ("graph", "runs", "M-PERI", "of these confirmed", "M-PERI .75", *names[2:])
        markdown(f"{condition}: directions right / wrong / open", head, rows)


def print_policies(cells: Sequence[Cell], tasks: Callable[[Cell], list[Task]], of: Callable[[Task], Record]) -> None:
    """Print the share of policies that were named, and differences that are no policies."""
    rows = []
    for cell in cells:
        found = [policies(task["case"], of(task)) for task in tasks(cell)]
        drift = bool(tasks(cell)[0]["case"]["drift"])
        named = sum(one["named"] for one in found) / sum(one["policies"] for one in found)
        others = mean(found, "others")
        false = ("-", others) if drift else (others, "-")
        rows.append((cell[1], cell[0], mean(found, "policies"), f"{named:.0%}", *false))
    head = ("tables", "graph", "policies", "named", "false differences", "differences by drift")
    markdown("What M-PERI says each site does differently, per run (age and sex left out)", head, rows)


def main() -> None:
    parser = arguments(__doc__, 20)
    parser.add_argument("--graphs", nargs="+", default=[*GRAPHS], choices=GRAPHS)
    parser.add_argument("--slow", type=int, default=2, help="seeds for slow methods")
    given = parser.parse_args()
    seeds = seeds_of(given)
    print(f"Seeds {seeds.start} to {seeds.stop - 1}; {', '.join(SLOW)}: the first {given.slow} of them")
    peers = able(("UT-IGSP", "GES, pooled", *SLOW))
    quick = [SURE, LIKELY, *(name for name in QUICK if name == "IPERI()" or name in peers)]
    slow = [name for name in SLOW if name in peers]
    cells = [(graph, condition) for condition in CONDITIONS for graph in given.graphs]

    def tasks_of(cell: Cell, name: str) -> list[Task]:
        some = seeds[: 0 if "log" in CONDITIONS[cell[1]] else given.slow] if name in SLOW else seeds
        limit = {"limit": LIMIT} if name in peers else {}
        return [{"case": ward(cell[0], seed, **CONDITIONS[cell[1]]), "method": name, **limit} for seed in some]

    tasks = {(cell, name): tasks_of(cell, name) for cell in cells for name in (*quick, *slow)}
    record = run([task for some in tasks.values() for task in some], given)
    found = {key: [record(task) for task in some] for key, some in tasks.items()}
    print_directions(cells, quick, lambda cell, name: found[cell, name])
    print_policies(cells, lambda cell: tasks[cell, SURE], record)
    if slow and given.slow:
        print(f"\nThe same with slow methods, all on the first {given.slow} seeds:")
        some_cells = [cell for cell in cells if "log" not in CONDITIONS[cell[1]]]
        print_directions(some_cells, (*quick, *slow), lambda cell, name: found[cell, name][: given.slow])
    for name in peers:
        failures(name, [one for (_, method), some in found.items() if method == name for one in some])
    by_method: dict[str, list[Record]] = {}
    for (cell, name), some in found.items():
        by_method.setdefault(f"{name}, {cell[1]}", []).extend(some)
    cpu_times(by_method)


if __name__ == "__main__":
    main()
