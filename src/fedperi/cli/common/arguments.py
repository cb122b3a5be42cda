"""Options that several commands share: each has one name, one meaning and one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _option(help: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, **more)


FILES = "One table per site: files, a folder, a quoted pattern, or - for standard input; SITE=FILE names the site."
"""Help text for the tables of a command."""

TABLES, METHOD, PRIVATE, OTHER = "Tables", "Method", "Privacy", "Other"
"""Panels of `--help` for less common options; common ones stand in the first panel."""


# Tables and how they are read.
DataType = Annotated[str | None, _option("auto, linear, nonlinear, discrete or mixed.", metavar="TYPE")]
SchemaFile = Annotated[
    str | None,
    _option("Types and levels of columns (TOML); inferred if not given.", metavar="FILE", rich_help_panel=TABLES),
]
MissingRows = Annotated[
    str | None,
    _option(
        "Incomplete rows: auto and em use them (mperi), drop omits them, error refuses them.",
        metavar="auto|em|drop|error",
    ),
]
SiteMissing = Annotated[
    str,
    _option(
        "Incomplete rows: error refuses them (with noise: fills in a default), drop omits them.", metavar="error|drop"
    ),
]
Columns = Annotated[str | None, _option("The only columns to use.", metavar="A,B,C", rich_help_panel=TABLES)]
Exclude = Annotated[
    str | None, _option("Columns to leave out, such as identifiers.", metavar="A,B", rich_help_panel=TABLES)
]
Accept = Annotated[
    str | None,
    _option("Columns whose unusual values are correct: do not refuse them.", metavar="A,B", rich_help_panel=TABLES),
]
Encoding = Annotated[
    str | None,
    _option("Encoding of text files: cp1252, latin-1; UTF-8 is detected.", metavar="NAME", rich_help_panel=TABLES),
]
Targets = Annotated[str | None, _option("Known targets: columns that this site set by intervention.", metavar="A,B")]
SiteTargets = Annotated[
    list[str] | None,
    _option(
        "Known targets: columns that a site set by intervention; repeat per site.",
        metavar="SITE=A,B",
        rich_help_panel=TABLES,
    ),
]
SiteName = Annotated[str | None, _option("The site's name; by default that of the file.")]
SiteKey = Annotated[Path | None, _option("The site's private key.", metavar="FILE")]

# Methods.
Knowledge = Annotated[str | None, _option("Forbidden and required edges, tiers (TOML).", metavar="FILE")]
Seed = Annotated[int | None, _option("Random seed for the search and the bootstrap.", rich_help_panel=METHOD)]
Confidence = Annotated[
    float | None, _option("mperi: smallest probability of a direction for an arrow [0.95].", rich_help_panel=METHOD)
]
Sharing = Annotated[
    str | None,
    _option(
        "mperi: how similar sites must be to share a mechanism.", metavar="auto|exact|none", rich_help_panel=METHOD
    ),
]
Masking = Annotated[
    str | None,
    _option(
        "iperi: which candidate parents count in a site's regret.",
        metavar="adaptive|consensus|none",
        rich_help_panel=METHOD,
    ),
]
Aggregate = Annotated[
    str | None, _option("iperi: how the sites' regrets are combined.", metavar="sum|worst", rich_help_panel=METHOD)
]
Local = Annotated[
    str | None, _option("iperi: how each site learns its local graph.", metavar="ges|pc", rich_help_panel=METHOD)
]
Alpha = Annotated[
    float | None,
    _option("Significance level of tests (fci, fedcdh, and iperi with --local pc).", rich_help_panel=METHOD),
]
Contexts = Annotated[
    bool | None,
    _option("fci: use differences between sites (default: yes).", "--context/--no-context", rich_help_panel=METHOD),
]
Selection = Annotated[
    bool | None,
    _option(
        "fci: allow for rows selected by the variables (default: yes).",
        "--selection/--no-selection",
        rich_help_panel=METHOD,
    ),
]
MaxDepth = Annotated[
    int | None, _option("fci: size of the largest conditioning set.", metavar="N", rich_help_panel=METHOD)
]
Penalty = Annotated[float | None, _option("iperi: multiplies the BIC penalty of an edge.", rich_help_panel=METHOD)]
Bootstrap = Annotated[
    int | None, _option("Stability of edges from N resampled runs.", metavar="N", rich_help_panel=METHOD)
]
Config = Annotated[
    str | None, _option("Options of the method from a TOML file.", metavar="FILE", rich_help_panel=OTHER)
]

# Privacy.
Epsilon = Annotated[
    float | None,
    _option("Differential privacy: budget per site; 1 is strong, 10 is weak.", rich_help_panel=PRIVATE),
]
Delta = Annotated[
    float | None, _option("Probability that the privacy guarantee fails (delta) [1e-6].", rich_help_panel=PRIVATE)
]
Mechanism = Annotated[
    str | None,
    _option(
        "Where noise is added: to statistics (default) or to answers (regret).",
        metavar="statistics|regret",
        rich_help_panel=PRIVATE,
    ),
]
Bounds = Annotated[
    str | None, _option("Public bounds and levels of the columns (TOML).", metavar="FILE", rich_help_panel=PRIVATE)
]
Ceiling = Annotated[
    float | None, _option("Largest total epsilon of a site, over all runs.", metavar="E", rich_help_panel=PRIVATE)
]
Store = Annotated[
    str | None, _option("Folder for a site's privacy ledger, noise and log.", metavar="DIR", rich_help_panel=PRIVATE)
]
MostRows = Annotated[
    int | None,
    _option("For a larger delta: a public number of rows that no table exceeds.", metavar="N", rich_help_panel=PRIVATE),
]
DecimalMark = Annotated[
    str | None, _option("Decimal mark of numbers in text files, . or ,", metavar="MARK", rich_help_panel=TABLES)
]

# Connections and output.
Insecure = Annotated[bool, _option("No TLS and no keys; this machine only.", "--insecure")]
ForceInsecure = Annotated[bool, _option("With --insecure: allow other machines.", "--force-insecure")]
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
Force = Annotated[bool, _option("Replace what an earlier run wrote to --out.", "--force")]
DryRun = Annotated[bool, _option("Show what would be done or sent, and stop.", "--dry-run")]
