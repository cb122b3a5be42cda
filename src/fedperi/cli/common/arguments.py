"""Options that several commands have: one name, one meaning and one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _option(help: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, **more)


FILES = "One table per site: files, a folder, a pattern in quotes, - for standard input; SITE=FILE names the site."
"""Help for the tables of a command."""

TABLES, METHOD, PRIVATE, OTHER = "Tables", "Method", "Privacy", "Other"
"""Headings of `--help` for options beyond the everyday ones, which have none."""


# What is read, and how.
DataType = Annotated[str | None, _option("auto, linear, nonlinear, discrete or mixed.", metavar="TYPE")]
SchemaFile = Annotated[
    str | None, _option("Types and levels not to be inferred.", metavar="FILE", rich_help_panel=TABLES)
]
MissingRows = Annotated[
    str | None,
    _option("Incomplete rows: use them (mperi: auto, em), drop or refuse them.", metavar="auto|em|drop|error"),
]
SiteMissing = Annotated[
    str, _option("Refuse gaps (with noise: count as a default), or drop rows.", metavar="error|drop")
]
Columns = Annotated[str | None, _option("The only columns to use.", metavar="A,B,C", rich_help_panel=TABLES)]
Exclude = Annotated[
    str | None, _option("Columns to leave out, such as identifiers.", metavar="A,B", rich_help_panel=TABLES)
]
Accept = Annotated[
    str | None,
    _option("Columns whose odd values are right: do not refuse them.", metavar="A,B", rich_help_panel=TABLES),
]
Encoding = Annotated[
    str | None,
    _option("Encoding of text files: cp1252, latin-1; UTF-8 is detected.", metavar="NAME", rich_help_panel=TABLES),
]
Targets = Annotated[str | None, _option("Columns that the site has set itself.", metavar="A,B")]
SiteTargets = Annotated[
    list[str] | None,
    _option("Columns that a site is known to have set; repeat per site.", metavar="SITE=A,B", rich_help_panel=TABLES),
]
SiteName = Annotated[str | None, _option("The site's name; the file's if not given.")]
SiteKey = Annotated[Path | None, _option("The site's private key.", metavar="FILE")]

# What a method does.
Knowledge = Annotated[str | None, _option("Forbidden and required edges, tiers (TOML).", metavar="FILE")]
Seed = Annotated[int | None, _option("Random seed for the search and the bootstrap.", rich_help_panel=METHOD)]
Confidence = Annotated[
    float | None, _option("mperi: probability a direction must have [0.95].", rich_help_panel=METHOD)
]
Sharing = Annotated[
    str | None,
    _option("mperi: how alike sites must be to share a mechanism.", metavar="auto|exact|none", rich_help_panel=METHOD),
]
Masking = Annotated[
    str | None, _option("iperi: how a site is judged.", metavar="adaptive|consensus|none", rich_help_panel=METHOD)
]
Aggregate = Annotated[
    str | None, _option("iperi: how the sites' regrets are added up.", metavar="sum|worst", rich_help_panel=METHOD)
]
Local = Annotated[str | None, _option("iperi: how a site learns alone.", metavar="ges|pc", rich_help_panel=METHOD)]
Alpha = Annotated[
    float | None, _option("Level of tests, of fci, fedcdh and of iperi with --local pc.", rich_help_panel=METHOD)
]
Contexts = Annotated[
    bool | None,
    _option("fci: use differences between sites; yes if not given.", "--context/--no-context", rich_help_panel=METHOD),
]
Selection = Annotated[
    bool | None,
    _option(
        "fci: rows may be selected by the variables; yes if not given.",
        "--selection/--no-selection",
        rich_help_panel=METHOD,
    ),
]
MaxDepth = Annotated[int | None, _option("fci: largest conditioning set.", metavar="N", rich_help_panel=METHOD)]
Penalty = Annotated[float | None, _option("iperi: multiplies the price of an edge.", rich_help_panel=METHOD)]
Bootstrap = Annotated[
    int | None, _option("Stability of edges from N resampled runs.", metavar="N", rich_help_panel=METHOD)
]
Config = Annotated[
    str | None, _option("Options of the method from a TOML file.", metavar="FILE", rich_help_panel=OTHER)
]

# Privacy.
Epsilon = Annotated[
    float | None,
    _option("Differential privacy, the price per site: 1 is strong, 10 is little.", rich_help_panel=PRIVATE),
]
Delta = Annotated[
    float | None, _option("Probability that the privacy guarantee fails (delta) [1e-6].", rich_help_panel=PRIVATE)
]
Mechanism = Annotated[
    str | None,
    _option("Where noise is added; statistics if not given.", metavar="statistics|regret", rich_help_panel=PRIVATE),
]
Bounds = Annotated[
    str | None, _option("Public limits and levels of the columns (TOML).", metavar="FILE", rich_help_panel=PRIVATE)
]
Ceiling = Annotated[
    float | None, _option("Largest total epsilon of a site, over all runs.", metavar="E", rich_help_panel=PRIVATE)
]
Store = Annotated[
    str | None, _option("Where a site keeps ledger, noise and log.", metavar="DIR", rich_help_panel=PRIVATE)
]
MostRows = Annotated[
    int | None,
    _option("For a larger delta: a public number of rows that no table exceeds.", metavar="N", rich_help_panel=PRIVATE),
]
DecimalMark = Annotated[
    str | None, _option("Decimal mark of numbers in text files, . or ,", metavar="MARK", rich_help_panel=TABLES)
]

# Connections and output.
Insecure = Annotated[bool, _option("No TLS, no keys; only on this machine.", "--insecure")]
ForceInsecure = Annotated[bool, _option("With --insecure: other machines too.", "--force-insecure")]
Authority = Annotated[Path | None, _option("Certificate of the coordinator's authority.", metavar="FILE")]
PassphraseFile = Annotated[
    Path | None,
    _option(
        "File with the passphrase of an encrypted key; or FEDPERI_PASSPHRASE_FILE, or a systemd credential.",
        metavar="FILE",
    ),
]
SiteKeys = Annotated[Path | None, _option("Public keys of the sites, SITE.pub.", metavar="DIR", rich_help_panel=OTHER)]
AsJson = Annotated[bool, _option("Print JSON and nothing else.", "--json", rich_help_panel=OTHER)]
DryRun = Annotated[bool, _option("Show what would be done or sent, and stop.", "--dry-run")]
