"""Asking a database: connections that can only read, and answers with few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

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
        return self._added_up(rows, [], len(rows.columns), 1)[0]

    def grouped_sums(self, rows: Any, keys: list[str], q: int, most: int) -> list[dict[str, Any]]:
        """Return what `sums` does for each combination of the columns `keys`, of which there may be `most`."""
        answer = self._added_up(rows, keys, q, most)
        if len(answer) > most:
            raise InputError(
                f"{self._address.shown!r}: gaps come in more than {most} patterns; use --missing drop, or leave out "
                "columns with many gaps"
            )
        return answer

    def _added_up(self, rows: Any, keys: list[str], q: int, most: int) -> list[dict[str, Any]]:
        names, answer = list(_sums(q)), dict[tuple[Any, ...], dict[str, Any]]()
        ask = self._ask_in_sql if self._backend.name in _FETCH else self._ask_by_ibis
        with _said(self._address, "refused a question"):
            for start in range(0, len(names), MOST_AGGREGATES):
                for found in ask(rows, keys, names[start : start + MOST_AGGREGATES], q, most + 1):
                    answer.setdefault(tuple(found[key] for key in keys), {}).update(found)
        return list(answer.values())

    def _ask_in_sql(self, rows: Any, keys: list[str], names: list[str], q: int, most: int) -> list[dict[str, Any]]:
        """Ask for some sums. To compile thousands by Ibis takes longer than a million rows take the engine."""
        terms, part = _sums(q), [*keys, *names]
        asked = ", ".join(f"{terms.get(name, name)} AS {name}" for name in part)
        group = f" GROUP BY {', '.join(keys)} LIMIT {most}" if keys else ""
        once = _ONCE.get(self._backend.name, "")
        query = f"SELECT {asked} FROM ({self._backend.compile(rows)}{once}) AS embedded{group}"
        return [dict(zip(part, found, strict=True)) for found in _FETCH[self._backend.name](self._backend, query)]

    def _ask_by_ibis(self, rows: Any, keys: list[str], names: list[str], q: int, most: int) -> list[dict[str, Any]]:
        sums = {f"s{i}": (i,) for i in range(q)} | {f"p{i}_{j}": (i, j) for i in range(q) for j in range(i, q)}

        def asked(name: str) -> Any:
            if name == "n":
                return rows.count()
            first, *second = (rows[f"e{at}"] for at in sums[name])
            return (first * second[0] if second else first).sum()

        terms = {name: asked(name) for name in names}
        return self.ask(rows.group_by(keys).aggregate(**terms) if keys else rows.aggregate(**terms), most)

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
        if address.scheme not in _STAY_OPEN:
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


def _spark(ibis: Any, address: Address) -> Any:
    from pyspark import SparkConf  # type: ignore[import-not-found,unused-ignore]
    from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]

    parts = urlsplit(address.url)
    # Progress bars of Spark would run into ours.
    options = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false", **dict(parse_qsl(parts.query))}
    if folder := parts.path.lstrip("/"):
        options["spark.sql.warehouse.dir"] = str(Path("/" + folder if parts.path.startswith("/") else folder))
    session = SparkSession.builder.config(conf=SparkConf().setAll(list(options.items()))).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return ibis.pyspark.connect(session)


def _other(ibis: Any, address: Address) -> Any:
    return ibis.connect(address.url)


_CONNECT: dict[str, Callable[[Any, Address], Any]] = {
    "duckdb": _duckdb,
    "postgresql": _postgresql,
    "pyspark": _spark,
}

_STAY_OPEN = ("pyspark",)
"""Engines that take long to start, and end with this process. A session of Spark may be the user's own."""


_FETCH: dict[str, Callable[[Any, str], list[Any]]] = {
    "duckdb": lambda backend, query: list(backend.con.execute(query).fetchall()),
    "postgres": lambda backend, query: list(backend.con.execute(query).fetchall()),
    "pyspark": lambda backend, query: list(backend.raw_sql(query).collect()),
}
"""How engines, as Ibis names them, answer a query in SQL. Others are asked through Ibis."""

_ONCE = {"postgres": " OFFSET 0"}
"""What makes an engine compute the embedded columns of a row once. Without it, PostgreSQL does so for each product."""


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
    except ImportError:
        part = {"postgresql": "postgres"}.get(address.scheme, address.scheme)
        raise InputError(
            f"{address.shown!r} needs a part of Ibis that is not installed; pip install 'ibis-framework[{part}]'"
        ) from None
    except Exception as error:
        words = ""
        if reason:
            words = address.hidden(str(error).strip().partition("\n")[0])
        kind = type(error).__name__
        raise InputError(
            f"the database of {address.shown!r} {what} ({kind}{': ' * bool(words)}{words}); check the address, the "
            "table and your rights"
        ) from None
