"""Options that several commands share: each has one name, one meaning and one help text."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

FILES = "One table per site: files, a folder, a quoted pattern, or - for standard input; SITE=FILE names the site."
"""Help text for the tables of a command."""

TABLES, METHOD, PRIVATE, OTHER = "Tables", "Method", "Privacy", "Other"
"""Panels of `--help` for less common options; common ones are in the first panel."""


def _option(help: str, *names: str, metavar: str | None = None, panel: str | None = None) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel)


_table, _method = partial(_option, panel=TABLES), partial(_option, panel=METHOD)
_private, _other = partial(_option, panel=PRIVATE), partial(_option, panel=OTHER)


# Tables and how they are read.
DataType = Annotated[str | None, _option("Kind of data: auto, linear, nonlinear, discrete or mixed.", metavar="TYPE")]
SchemaFile = Annotated[str | None, _table("Types and levels of columns (TOML); inferred if not given.", metavar="FILE")]
MissingRows = Annotated[
    str | None,
    _option(
        "Incomplete rows: auto and em use them (mperi), drop omits them, error stops.", metavar="auto|em|drop|error"
    ),
]
SiteMissing = Annotated[
    str,
    _option("Incomplete rows: error stops (with noise: fills in a default), drop omits them.", metavar="error|drop"),
]
Columns = Annotated[str | None, _table("The only columns to use.", metavar="A,B,C")]
Exclude = Annotated[str | None, _table("Columns to leave out, such as identifiers.", metavar="A,B")]
Accept = Annotated[str | None, _table("Columns whose unusual values are correct: do not refuse them.", metavar="A,B")]
Encoding = Annotated[str | None, _table("Encoding of text files: cp1252, latin-1; UTF-8 is detected.", metavar="NAME")]
Targets = Annotated[str | None, _option("Known targets: columns that this site set by intervention.", metavar="A,B")]
SiteTargets = Annotated[
    list[str] | None,
    _table("Known targets: columns that a site set by intervention; repeat per site.", metavar="SITE=A,B"),
]
SiteName = Annotated[str | None, _option("The site's name; by default that of the file.")]
SiteKey = Annotated[Path | None, _option("The site's private key.", metavar="FILE")]

# Methods.
Knowledge = Annotated[str | None, _option("Forbidden and required edges, tiers (TOML).", metavar="FILE")]
Seed = Annotated[int | None, _method("Random seed for the search and the bootstrap.")]
Confidence = Annotated[float | None, _method("mperi: smallest probability that makes a direction an arrow [0.95].")]
Sharing = Annotated[
    str | None, _method("mperi: how similar sites must be to share a mechanism.", metavar="auto|exact|none")
]
Masking = Annotated[
    str | None, _method("iperi: which candidate parents count in a site's regret.", metavar="adaptive|consensus|none")
]
Aggregate = Annotated[str | None, _method("iperi: how the sites' regrets are combined.", metavar="sum|worst")]
Local = Annotated[str | None, _method("iperi: how each site learns its local graph.", metavar="ges|pc")]
Alpha = Annotated[float | None, _method("Significance level of tests (fci, fedcdh, and iperi with --local pc).")]
Contexts = Annotated[
    bool | None, _method("fci: use differences between sites (default: yes).", "--context/--no-context")
]
Selection = Annotated[
    bool | None, _method("fci: allow for selection bias (default: yes).", "--selection/--no-selection")
]
MaxDepth = Annotated[int | None, _method("fci: size of the largest conditioning set.", metavar="N")]
Penalty = Annotated[float | None, _method("iperi: factor of the BIC penalty of an edge.")]
Bootstrap = Annotated[int | None, _method("Measure how stable edges are, with N resampled runs.", metavar="N")]
Config = Annotated[str | None, _other("Options of the method from a TOML file.", metavar="FILE")]

# Privacy.
Epsilon = Annotated[float | None, _private("Differential privacy: budget per site; 1 is strong, 10 is weak.")]
Delta = Annotated[float | None, _private("Probability that the privacy guarantee fails (delta) [1e-6].")]
Mechanism = Annotated[
    str | None,
    _private("Where noise is added: to statistics (default) or to answers (regret).", metavar="statistics|regret"),
]
Bounds = Annotated[str | None, _private("Public bounds and levels of the columns (TOML).", metavar="FILE")]
Ceiling = Annotated[float | None, _private("Largest total epsilon of a site, over all runs.", metavar="E")]
Store = Annotated[str | None, _private("Folder for a site's privacy ledger, noise and log.", metavar="DIR")]
MostRows = Annotated[
    int | None, _private("Public upper bound on the rows of a table; allows a larger delta.", metavar="N")
]
DecimalMark = Annotated[str | None, _table("Decimal mark of numbers in text files, . or ,", metavar="MARK")]

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
SiteKeys = Annotated[Path | None, _other("Folder with the public keys of the sites (SITE.pub).", metavar="DIR")]
AsJson = Annotated[bool, _other("Print JSON and nothing else.", "--json")]
Force = Annotated[bool, _option("Replace what an earlier run wrote to --out.", "--force")]
DryRun = Annotated[bool, _option("Show what would be done or sent, and stop.", "--dry-run")]
