"""How a PDAG is written for other tools and read back: thin methods over `fedperi.graph.formats`."""

from __future__ import annotations


class Interop:
    """Readers and writers that every PDAG has."""

    __slots__ = ()
