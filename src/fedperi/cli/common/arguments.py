"""Options that several commands have: one name, one meaning and one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _option(help: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, **more)


# What is read, and how.
DataType = Annotated[str | None, _option("auto, linear, nonlinear, discrete or mixed.", metavar="TYPE")]
SchemaFile = Annotated[str | None, _option("Types and levels not to be inferred.", metavar="FILE")]
MissingRows = Annotated[str | None, _option("Refuse incomplete rows, or drop them.", metavar="error|drop")]
SiteMissing = Annotated[
    str, _option("Refuse gaps (with noise: count as a default), or drop rows.", metavar="error|drop")
]
Targets = Annotated[str | None, _option("Columns that the site has set itself.", metavar="A,B")]
SiteName = Annotated[str | None, _option("The site's name; the file's if not given.")]
SiteKey = Annotated[Path | None, _option("The site's private key.", metavar="FILE")]

# What a method does.
Knowledge = Annotated[str | None, _option("Forbidden and required edges, tiers (TOML).", metavar="FILE")]
Seed = Annotated[int | None, _option("Random seed for the search and the bootstrap.")]
Confidence = Annotated[float | None, _option("mperi: probability a direction must have [0.95].")]
Sharing = Annotated[
    str | None, _option("mperi: how alike sites must be to share a mechanism.", metavar="auto|exact|none")
]
Masking = Annotated[str | None, _option("iperi: how a site is judged.", metavar="adaptive|consensus|none")]
Aggregate = Annotated[str | None, _option("iperi: how the sites' regrets are added up.", metavar="sum|worst")]
Local = Annotated[str | None, _option("iperi: how a site learns alone.", metavar="ges|pc")]
Alpha = Annotated[float | None, _option("Level of tests, of fedcdh and of iperi with --local pc.")]
Penalty = Annotated[float | None, _option("iperi: multiplies the price of an edge.")]
Bootstrap = Annotated[int | None, _option("Stability of edges from N resampled runs.", metavar="N")]
Config = Annotated[str | None, _option("Options of the method from a TOML file.", metavar="FILE")]

# Privacy.
Epsilon = Annotated[float | None, _option("Differential privacy, the price per site: 1 is strong, 10 is little.")]
Delta = Annotated[float | None, _option("Probability that the privacy guarantee fails (delta) [1e-6].")]
Mechanism = Annotated[str | None, _option("Where noise is added [statistics].", metavar="statistics|regret")]
Bounds = Annotated[str | None, _option("Public limits and levels of the columns (TOML).", metavar="FILE")]
Ceiling = Annotated[float | None, _option("Largest total epsilon of a site, over all runs.", metavar="E")]
Store = Annotated[str | None, _option("Where a site keeps ledger, noise and log.", metavar="DIR")]
MostRows = Annotated[
    int | None, _option("For a larger delta: a public number of rows that no table exceeds.", metavar="N")
]
DecimalMark = Annotated[str | None, _option("With noise: decimal mark of numbers in text, . or ,", metavar="MARK")]

# Connections and output.
Insecure = Annotated[bool, _option("No TLS, no keys; only on this machine.", "--insecure")]
ForceInsecure = Annotated[bool, _option("With --insecure: other machines too.", "--force-insecure")]
Authority = Annotated[Path | None, _option("Certificate of the coordinator's authority.", metavar="FILE")]
SiteKeys = Annotated[Path | None, _option("Public keys of the sites, SITE.pub.", metavar="DIR")]
AsJson = Annotated[bool, _option("Print JSON and nothing else.", "--json")]
DryRun = Annotated[bool, _option("Show what would be done or sent, and stop.", "--dry-run")]
