"""Questions to a database, over connections that can only read, with answers of few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import islice
from operator import mul
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from ...errors import InputError
from .address import Address

MOST_AGGREGATES = 500
"""The most numbers that one query asks for. PostgreSQL allows 1,664, and other engines slow down with more."""

Item = TypeVar("Item")
Sums = Mapping[str, tuple[str, ...]]
"""The columns whose product each sum adds up, by the name of the sum."""

Prepare = Callable[[Any], Any]
"""Takes an expression of the rows, and returns one with changed cells."""


class Connection:
    """An open connection to a database, for questions about one table.

    Every question is an aggregate. An answer with more rows than expected is refused.
    """

    def __init__(self, address: Address, backend: Any, prepare: Prepare | None = None) -> None:
        self._address, self._backend, self._prepare = address, backend, prepare

    def beside(self, address: Address, prepare: Prepare | None) -> Connection:
        """Return the same connection for another table of the database."""
        return Connection(address, self._backend, prepare)

    @property
    def rows(self) -> Any:
        """The rows with the cells that a schema changes, as an expression: nothing is fetched."""
        address = self._address
        with _in_our_words(address, "does not let us see the table"):
            if address.query is not None:
                stored = self._backend.sql(address.query, schema=_query_types(self._backend, address))
            else:
                *database, name = str(address.table).rsplit(".", 1)
                stored = self._backend.table(name, database=database[0] if database else None)
        return stored if self._prepare is None else self._prepare(stored)

    def ask(self, question: Any, most: int = 1) -> list[dict[str, Any]]:
        """Return the answer to a question, of at most `most` rows."""
        with _in_our_words(self._address, "refused a question"):
            answer = question.limit(most + 1).to_pyarrow().to_pylist()
        if len(answer) > most:
            raise InputError(f"{self._address.shown!r}: an answer has more than {most} rows; report this as a bug")
        return list(answer)

    def sums(self, rows: Any, q: int, gaps: Sequence[str] = (), most: int = 1) -> list[dict[str, Any]]:
        """Return sums over the rows with each pattern of gaps, of which there may be at most `most`.

        They are the number of rows (``n``), the sums (``s0``, ...) of the q columns ``e0``, ``e1``, ..., and the sums
        of their products (``p0_1``, ...). A pattern is a combination of values of the columns `gaps`.
        """
        answer = dict[tuple[Any, ...], dict[str, Any]]()
        ask = self._ask_in_sql if self._backend.name in _FETCH else self._ask_by_ibis
        with _in_our_words(self._address, "refused a question"):
            for part in _parts(_sums(q)):
                for found in ask(rows, gaps, part, most + 1):
                    answer.setdefault(tuple(found[gap] for gap in gaps), {}).update(found)
        if len(answer) > most:
            raise InputError(
                f"{self._address.shown!r}: gaps come in more than {most} patterns; use --missing drop, or leave out "
                "columns with many gaps"
            )
        return list(answer.values())

    def _ask_in_sql(self, rows: Any, keys: Sequence[str], sums: Sums, most: int) -> list[dict[str, Any]]:
        """Ask for some sums. Ibis would take longer to compile thousands than the engine takes for a million rows."""
        terms = [f"SUM({' * '.join(factors)})" if factors else "COUNT(*)" for factors in sums.values()]
        asked = ", ".join([*keys, *(f"{term} AS {name}" for name, term in zip(sums, terms, strict=True))])
        group = f" GROUP BY {', '.join(keys)} LIMIT {most}" if keys else ""
        once = _ONCE.get(self._backend.name, "")
        query = f"SELECT {asked} FROM ({self._backend.compile(rows)}{once}) AS embedded{group}"
        answer = _FETCH[self._backend.name](self._backend, query)
        return [dict(zip([*keys, *sums], found, strict=True)) for found in answer]

    def _ask_by_ibis(self, rows: Any, keys: Sequence[str], sums: Sums, most: int) -> list[dict[str, Any]]:
        terms = {
            name: reduce(mul, (rows[factor] for factor in factors)).sum() if factors else rows.count()
            for name, factors in sums.items()
        }
        return self.ask(rows.group_by(list(keys)).aggregate(**terms) if keys else rows.aggregate(**terms), most)

    def numbers(self, rows: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """Return aggregates of all rows by name, a few hundred per query."""
        answer: dict[str, Any] = {}
        for part in _parts(questions):
            answer |= self.ask(rows.aggregate(**part))[0]
        return answer


@contextmanager
def connected(address: Address, prepare: Prepare | None = None) -> Iterator[Connection]:
    """Connect for some questions about a table whose cells `prepare` changes.

    The connection can only read, and is closed afterwards.
    """
    try:
        import ibis
    except ImportError:
        raise InputError(
            f"{address.shown!r} is a table of a database, which needs Ibis; pip install "
            "'ibis-framework[duckdb,postgres]' (the extra 'sql' brings it)"
        ) from None
    connect = _CONNECT.get(address.scheme)
    with _in_our_words(address, "cannot be reached", reason=True):
        backend = connect(ibis, address) if connect else ibis.connect(address.url)
    try:
        yield Connection(address, backend, prepare)
    finally:
        if address.scheme not in _STAY_OPEN:
            backend.disconnect()


def _sums(q: int) -> Sums:
    """Return the factors in each sum of `Connection.sums` for q columns; the number of rows has none."""
    products = {f"p{i}_{j}": (f"e{i}", f"e{j}") for i in range(q) for j in range(i, q)}
    return {"n": (), **{f"s{i}": (f"e{i}",) for i in range(q)}, **products}


def _parts(questions: Mapping[str, Item]) -> Iterator[dict[str, Item]]:
    """Split questions into parts that fit into one query."""
    pairs = iter(questions.items())
    while part := dict(islice(pairs, MOST_AGGREGATES)):
        yield part


def _duckdb(ibis: Any, address: Address) -> Any:
    given = address.url.partition("://")[2].partition("?")[0]
    if not given:
        return ibis.duckdb.connect()
    # Some programs write three slashes before a relative path, others before an absolute one.
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
    # Progress bars of Spark would be printed into ours.
    options = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false", **dict(parse_qsl(parts.query))}
    if folder := parts.path.lstrip("/"):
        options["spark.sql.warehouse.dir"] = str(Path("/" + folder if parts.path.startswith("/") else folder))
    session = SparkSession.builder.config(conf=SparkConf().setAll(list(options.items()))).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return ibis.pyspark.connect(session)


_CONNECT: dict[str, Callable[[Any, Address], Any]] = {"duckdb": _duckdb, "postgresql": _postgresql, "pyspark": _spark}

_STAY_OPEN = ("pyspark",)
"""Engines that are not closed: they start slowly, and end with this process. A Spark session may be the user's own."""

_FETCH: dict[str, Callable[[Any, str], list[Any]]] = {
    "duckdb": lambda backend, query: list(backend.con.execute(query).fetchall()),
    "postgres": lambda backend, query: list(backend.con.execute(query).fetchall()),
    "pyspark": lambda backend, query: list(backend.raw_sql(query).collect()),
}
"""How to ask engines, by their names in Ibis, a query in SQL. All other engines are asked through Ibis."""

_ONCE = {"postgres": " OFFSET 0"}
"""SQL that makes an engine compute the embedded columns of a row once. PostgreSQL would do so for each product."""


def _query_types(backend: Any, address: Address) -> Any:
    """Return the types of a query's columns without asking for rows; None where Ibis must find them."""
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
def _in_our_words(address: Address, what: str, *, reason: bool = False) -> Iterator[None]:
    """Replace an engine's error by one sentence: an engine's message may show the content of a cell.

    Only where no question was asked, `reason` adds the first line of the engine's message.
    """
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
        kind, words = type(error).__name__, str(error).strip().partition("\n")[0]
        why = f"{kind}: {address.hidden(words)}" if reason and words else kind
        raise InputError(
            f"the database of {address.shown!r} {what} ({why}); check the address, the table and your rights"
        ) from None
