"""The address of a table in a database, and how to show it without its secrets."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ...errors import InputError

_SCHEME = re.compile(r"([a-z][a-z0-9+.]*)://", re.IGNORECASE)
_CONNECTION = re.compile(r"--\s*connection:\s*(\S+)\s*")
_DIALECTS = {"postgresql": "postgres", "pyspark": "spark", "mssql": "tsql", "impala": "hive"}
"""The names of dialects in the parser of queries, where they differ from those in addresses."""

_SECRET = re.compile("pass|pwd|token|key|secret|credential", re.IGNORECASE)
"""The names of options in an address whose values are secrets."""

_EXAMPLE = "postgresql://host/database?table=visits"


@dataclass(frozen=True)
class Address:
    """A table or a query of a database.

    Parameters
    ----------
    url : str
        How to connect. It may hold a password, and is never shown.
    shown : str
        The same without user, password and options.
    table : str, optional
        The name of the table.
    query : str, optional
        A query whose result is the table.

    Examples
    --------
    >>> address = parse_url("postgresql://ann:secret@db.example.org/clinic?table=visits&sslmode=require")
    >>> address
    Address(shown='postgresql://db.example.org/clinic?table=visits', table='visits', query=None)
    """

    url: str = field(repr=False)
    shown: str
    table: str | None = None
    query: str | None = None

    @property
    def scheme(self) -> str:
        """The kind of database, such as ``"postgresql"``."""
        found = _SCHEME.match(self.url)
        scheme = found[1].lower() if found else ""
        return "postgresql" if scheme == "postgres" else scheme

    @property
    def secrets(self) -> tuple[str, ...]:
        """The parts of the address that must not appear in any message."""
        parts = urlsplit(self.url)
        options = [value for key, value in parse_qsl(parts.query) if _SECRET.search(key)]
        return tuple({parts.password or "", unquote(parts.password or ""), *options} - {""})

    def hidden(self, text: str) -> str:
        """Return an engine's message without the secrets and without the name of the user.

        Examples
        --------
        >>> parse_url("postgresql://ann:secret@host/clinic?table=visits").hidden('user "ann" cannot log in by secret')
        'user "***" cannot log in by ***'
        """
        for secret in self.secrets:
            text = text.replace(secret, "***")
        user = unquote(urlsplit(self.url).username or "")
        return re.sub(rf"(?<!\w){re.escape(user)}(?!\w)", "***", text) if user else text


def is_url(text: str) -> bool:
    """Say whether a source is the address of a database.

    Examples
    --------
    >>> is_url("duckdb:///clinic.db?table=visits"), is_url("north.csv")
    (True, False)
    """
    return _SCHEME.match(text) is not None


def parse_url(text: str) -> Address:
    """Read the address of a table, ``SCHEME://...?table=NAME``.

    Examples
    --------
    >>> parse_url("duckdb:///clinic.db")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: 'duckdb:///clinic.db' names no table; add it: postgresql://host/database?table=visits
    """
    url, _, query = text.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    tables = [value for key, value in options if key == "table"]
    rest = [pair for pair in options if pair[0] != "table"]
    scheme, netloc, path, _, _ = urlsplit(url)
    shown = f"{scheme}://{netloc.rpartition('@')[2]}{path}"
    if len(tables) != 1 or not tables[0].strip():
        raise InputError(f"{shown!r} names no table; add it: {_EXAMPLE}")
    return Address(url + (f"?{urlencode(rest)}" if rest else ""), f"{shown}?table={tables[0]}", tables[0])


def read_query(path: Path) -> Address:
    r"""Read a file with a query, whose first line names the database: ``-- connection: postgresql://host/database``.

    Instead of the address, that line may hold ``$NAME``, the name of an environment variable that holds the address.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "lyon.sql"
    >>> _ = file.write_text("-- connection: duckdb:///clinic.db\nSELECT age, dose FROM visits;")
    >>> read_query(file).query
    'SELECT age, dose FROM visits'
    """
    try:
        first, _, rest = path.read_text(encoding="utf-8-sig").partition("\n")
    except (OSError, UnicodeError):
        raise InputError(f"{str(path)!r} cannot be read as UTF-8 text; save the query again") from None
    found = _CONNECTION.fullmatch(first.strip())
    if found is None:
        raise InputError(
            f"{str(path)!r}: the first line must name the database: -- connection: postgresql://host/database "
            "(or $NAME, a variable of the environment that holds the address)"
        )
    url = found[1]
    if url.startswith("$"):
        url = os.environ.get(url[1:], "")
        if not url:
            raise InputError(f"{str(path)!r}: there is no variable {found[1][1:]!r} in the environment; set it")
    if not is_url(url):
        raise InputError(f"{str(path)!r}: the connection in the first line is not an address such as {_EXAMPLE}")
    query = rest.strip().rstrip(";").strip()
    address = Address(url, str(path), None, query)
    _check_query(path, query, address.scheme)
    return address


def _check_query(path: Path, query: str, scheme: str) -> None:
    try:
        import sqlglot
    except ImportError:
        raise InputError(
            f"{str(path)!r} is a query, which needs Ibis; pip install 'ibis-framework[duckdb,postgres]' (the extra "
            "'sql' brings it)"
        ) from None
    dialect = _DIALECTS.get(scheme, scheme)
    try:
        statements = [one for one in sqlglot.parse(query, read=dialect) if one is not None]
    except (sqlglot.errors.SqlglotError, ValueError):
        statements = []
    if len(statements) != 1 or not isinstance(statements[0], sqlglot.exp.Query):
        raise InputError(f"{str(path)!r}: after the first line there must be one SELECT, and nothing else")
