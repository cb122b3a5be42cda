"""Readers and writers of a PDAG for other tools: the functions of `fedperi.graph.formats`, as methods."""

from __future__ import annotations

from . import formats


class Interop:
    """Readers and writers that every PDAG has. They take and return texts as strings, and use no files.

    Each is documented in `fedperi.graph.formats`; ``help(fp.PDAG.to_dot)`` shows this too.

    Examples
    --------
    >>> import fedperi as fp
    >>> g = fp.PDAG.from_edges([("A", "B")], [("B", "C")])
    >>> fp.PDAG.from_dagitty(g.to_dagitty()) == g
    True
    """

    __slots__ = ()

    to_networkx = formats.to_networkx
    from_networkx = staticmethod(formats.from_networkx)
    to_dot = formats.to_dot
    from_dot = staticmethod(formats.from_dot)
    to_dagitty = formats.to_dagitty
    from_dagitty = staticmethod(formats.from_dagitty)
    to_gml = formats.to_gml
    from_gml = staticmethod(formats.from_gml)
    to_causallearn = formats.to_causallearn
    from_causallearn = staticmethod(formats.from_causallearn)
    to_pgmpy = formats.to_pgmpy
    from_pgmpy = staticmethod(formats.from_pgmpy)
    to_tetrad = formats.to_tetrad
    from_tetrad = staticmethod(formats.from_tetrad)
    to_csv = formats.to_csv
    from_csv = staticmethod(formats.from_csv)
    to_json = formats.to_json
    from_json = staticmethod(formats.from_json)
