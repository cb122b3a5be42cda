"""List all conflicts between sites in `fedperi coordinate`, and propose a schema that they can accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...coordinator.agreement import Disagreement

FILE = "proposal.toml"
"""Name of the file with the proposal."""


@contextmanager
def explaining(place: Path, note: Callable[[str], None]) -> Iterator[None]:
    """If sites disagree, list all conflicts before the run ends, not only the first; propose a schema if there is one.

    Parameters
    ----------
    place : Path
        Where the proposal is written.
    note : callable
        Gets lines for people.
    """
    try:
        yield
    except Disagreement as error:
        from ...coordinator.proposals import announced, merge

        if len({card.site for card in error.cards}) == 1:
            raise
        merged = merge(announced(error.cards))
        for line in (*merged.conflicts, *merged.remarks):
            note(line)
        if merged.remarks and not merged.conflicts:
            merged.schema.to_file(place / FILE)
            note(
                f"a schema that would fit all is in {str(place / FILE)!r}: send it to the sites; each owner looks at "
                "it and accepts it with `fedperi schema accept`."
            )
        raise
