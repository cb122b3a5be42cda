"""What `fedperi coordinate` does if sites do not agree: list all conflicts, and write a proposal to accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...coordinator.agreement import Disagreement

FILE = "proposal.toml"
"""File beside the results."""


@contextmanager
def explaining(place: Path, note: Callable[[str], None]) -> Iterator[None]:
    """List all conflicts between sites before the run ends, not only the first; write a schema that they could accept.

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

        merged = merge(announced(error.cards)) if len({card.site for card in error.cards}) > 1 else None
        for line in () if merged is None else (*merged.conflicts, *merged.remarks):
            note(line)
        if merged is not None and merged.remarks and not merged.conflicts:
            merged.schema.to_file(place / FILE)
            note(
                f"a schema that would fit all is in {str(place / FILE)!r}: send it to the sites; each owner looks at "
                "it and accepts it with `fedperi schema accept`."
            )
        raise
