"""Asking a database: connections that can only read, and answers with few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import InputError
from .address import Address

MOST_AGGREGATES = 500
"""Numbers that one query asks for. PostgreSQL allows 1,664 per query, and other engines slow down with more."""


Prepare = Callable[[Any], Any]
"""Takes an expression of rows, and returns one with cells changed."""


class Connection:
    """A connection to a database while questions are asked.

    Every question is an aggregate: `ask` is the only way to an answer, and refuses one with more rows than expected.
    """

    def __init__(self, address: Address, backend: Any, prepare: Prepare | None = None) -> None:
        self._address, self._backend, self._prepare = address, backend, prepare

    def beside(self, address: Address, prepare: Prepare | None) -> Connection:
        """Return the same connection, for another table of the same database."""
        return Connection(address, self._backend, prepare)

    @property
    def rows(self) -> Any:
        """The table, with cells changed as a schema says, as an expression: nothing is fetched."""
        return self._stored if self._prepare is None else self._prepare(self._stored)

    @property
    def _stored(self) -> Any:
        address = self._address
        with _said(address, "does not let us see the table"):
            if address.query is not None:
                return self._backend.sql(address.query, schema=_query_types(self._backend, address))
            *database, name = str(address.table).rsplit(".", 1)
            return self._backend.table(name, database=database[0] if database else None)

    def ask(self, question: Any, most: int = 1) -> list[dict[str, Any]]:
        """Return the answer to a question, of at most `most` rows."""
        with _said(self._address, "refused a question"):
            answer = question.limit(most + 1).to_pyarrow().to_pylist()
        if len(answer) > most:
            raise InputError(f"{self._address.shown!r}: an answer has more than {most} rows; report this as a mistake")
        return list(answer)

    def sums(self, rows: Any) -> dict[str, Any]:
        """Count rows (``n``); add up columns ``e0``, ``e1``, ... (``s0``, ...) and their products (``p0_1``, ...)."""
        q = len(rows.columns)
        if self._address.scheme not in _CONNECT:
            sums = {f"s{i}": rows[f"e{i}"].sum() for i in range(q)}
            products = {f"p{i}_{j}": (rows[f"e{i}"] * rows[f"e{j}"]).sum() for i in range(q) for j in range(i, q)}
            return self.numbers(rows, {"n": rows.count(), **sums, **products})
        # Thousands of sums: to compile them one by one takes Ibis longer than a million rows take the engine.
        terms = _sums(q)
        names, answer = list(terms), dict[str, Any]()
        with _said(self._address, "refused a question"):
            source = self._backend.compile(rows)
            for start in range(0, len(names), MOST_AGGREGATES):
                part = names[start : start + MOST_AGGREGATES]
                asked = ", ".join(terms[name] for name in part)
                found = self._backend.con.execute(f"SELECT {asked} FROM ({source}) AS embedded").fetchone()
                answer |= dict(zip(part, found, strict=True))
        return answer

    def grouped_sums(self, rows: Any, keys: list[str], q: int, most: int) -> list[dict[str, Any]]:
        """Return what `sums` does for each combination of the columns `keys`, of which there may be `most`."""
        terms = _sums(q)
        if self._address.scheme not in _CONNECT:
            raise InputError(
                f"{self._address.shown!r}: sums of incomplete rows are made in DuckDB and PostgreSQL; here use "
                "--missing drop, or a query that has no gaps"
            )
        names, group = list(terms), ", ".join(keys)
        answer: dict[tuple[Any, ...], dict[str, Any]] = {}
        with _said(self._address, "refused a question"):
            source = self._backend.compile(rows)
            for start in range(0, len(names), MOST_AGGREGATES):
                part = [*keys, *names[start : start + MOST_AGGREGATES]]
                asked = ", ".join(f"{terms.get(name, name)} AS {name}" for name in part)
                query = f"SELECT {asked} FROM ({source}) AS embedded GROUP BY {group} LIMIT {most + 1}"
                for found in self._backend.con.execute(query).fetchall():
                    answer.setdefault(found[: len(keys)], {}).update(zip(part, found, strict=True))
        if len(answer) > most:
            raise InputError(
                f"{self._address.shown!r}: gaps come in more than {most} patterns; use --missing drop, or leave out "
                "columns with many gaps"
            )
        return list(answer.values())

    def numbers(self, rows: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """Return aggregates of all rows by name, a few hundred per query."""
        names, answer = list(questions), dict[str, Any]()
        for start in range(0, len(names), MOST_AGGREGATES):
            part = {name: questions[name] for name in names[start : start + MOST_AGGREGATES]}
            answer |= self.ask(rows.aggregate(**part))[0]
        return answer


@contextmanager
def connected(address: Address, prepare: Prepare | None = None) -> Iterator[Connection]:
    """Connect for some questions. The connection can only read, and ends afterwards.

    Questions are about what `prepare` makes of the table.
    """
    try:
        import ibis
    except ImportError:
        raise InputError(
            f"{address.shown!r} is a table of a database, which needs Ibis; pip install "
            "'ibis-framework[duckdb,postgres]' (the extra 'sql' brings it)"
        ) from None
    connect = _CONNECT.get(address.scheme, _other)
    with _said(address, "cannot be reached", reason=True):
        backend = connect(ibis, address)
    try:
        yield Connection(address, backend, prepare)
    finally:
        backend.disconnect()


def _sums(q: int) -> dict[str, str]:
    """Return the aggregates of `Connection.sums` for q columns, in SQL."""
    products = {f"p{i}_{j}": f"SUM(e{i} * e{j})" for i in range(q) for j in range(i, q)}
    return {"n": "COUNT(*)", **{f"s{i}": f"SUM(e{i})" for i in range(q)}, **products}


def _duckdb(ibis: Any, address: Address) -> Any:
    given = address.url.partition("://")[2].partition("?")[0]
    if not given:
        return ibis.duckdb.connect()
    # Some programs write three slashes before a path in this folder, others before one from the root.
    path = next((path for path in (Path(given), Path(given.lstrip("/"))) if path.is_file()), None)
    if path is None:
        raise InputError(f"{address.shown!r}: there is no file {given!r} or {given.lstrip('/')!r}; check the path")
    return ibis.duckdb.connect(path, read_only=True)


def _postgresql(ibis: Any, address: Address) -> Any:
    import psycopg

    url = "postgresql://" + address.url.partition("://")[2]
    connection = psycopg.connect(
        url,
        autocommit=True,
        connect_timeout=15,
        options="-c default_transaction_read_only=on",
        application_name="fedperi",
    )
    return ibis.postgres.from_connection(connection)


def _other(ibis: Any, address: Address) -> Any:
    return ibis.connect(address.url)


_CONNECT: dict[str, Callable[[Any, Address], Any]] = {"duckdb": _duckdb, "postgresql": _postgresql}


def _query_types(backend: Any, address: Address) -> Any:
    """Find the types of a query's columns without asking for rows; None where Ibis has to find out."""
    if address.scheme == "duckdb":
        from ibis.backends.sql.datatypes import DuckDBType

        described = backend.con.execute(f"DESCRIBE {address.query}").fetchall()
        return {name: DuckDBType.from_string(kind) for name, kind, *_ in described}
    if address.scheme == "postgresql":
        from ibis.backends.sql.datatypes import PostgresType

        cursor = backend.con.execute(f"SELECT * FROM ({address.query}) AS asked LIMIT 0")
        return {column.name: PostgresType.from_string(column.type_display) for column in cursor.description}
    return None


@contextmanager
def _said(address: Address, what: str, *, reason: bool = False) -> Iterator[None]:
    """Turn an engine's error into one sentence. What engines say of a question may hold the content of a cell."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        words = ""
        if reason:
            words = str(error).strip().partition("\n")[0]
            for secret in address.secrets:
                words = words.replace(secret, "***")
        kind = type(error).__name__
        raise InputError(
            f"the database of {address.shown!r} {what} ({kind}{': ' * bool(words)}{words}); check the address, the "
            "table and your rights"
        ) from None
