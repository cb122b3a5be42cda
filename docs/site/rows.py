"""The rows of the settings benchmark as a script, so that the page of results can show them without a server."""

from __future__ import annotations

import csv
import json
from pathlib import Path

NUMBERS = ("shd", "shd_ci", "f1", "right", "wrong", "open", "adjustment", "recall", "precision", "cpu_s")


def script(file: Path) -> str:
    """Write the methods, the settings and the rows of `settings.csv`; numbers that a row has not are null."""
    from fedperi.benchmark.contenders import CONTENDERS
    from fedperi.benchmark.settings import SETTINGS

    rows = []
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            run = int(row["cells"]) > 0
            numbers = [float(row[name]) if run and row.get(name) else None for name in NUMBERS]
            if numbers[6] is not None and not int(row["adjusted"]):
                numbers[6] = None
            where = [row["setting"], int(row["p"]), row["method"], int(row["cells"]), int(row["failed"])]
            rows.append([*where, *numbers, row["command"], row.get("why") or ""])
    methods = {name: [one.label, one.colour, one.kind] for name, one in CONTENDERS.items()}
    settings = {name: one.words for name, one in SETTINGS.items()}
    told = json.dumps({"methods": methods, "settings": settings, "rows": rows}, separators=(",", ":"))
    return f"window.RESULT_ROWS = {told};\n"
