"""A Flower grid that notes, for the coordinator's status page, who is connected and when it answered last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...coordinator.tally import ASKING, WAITING, RunTally
from .exchange import Grid

if TYPE_CHECKING:
    from flwr.app import Message


class WatchedGrid:
    """Passes every call on to a grid, and notes the progress of the run in a tally.

    Nodes with other keys than `keys` are not counted; without `keys`, all nodes are. With `rounds`, sites are asked in
    rounds with a search in between, so that a pause does not mean that the run is stuck.
    """

    def __init__(self, grid: Grid, tally: RunTally, keys: Mapping[bytes, str] | None, rounds: bool = False) -> None:
        self._grid, self._tally, self._keys = grid, tally, keys
        self._asking = "asking and computing" if rounds else ASKING
        tally.phase = WAITING

    def get_nodes(self) -> Iterable[Any]:
        """Return the nodes that are connected."""
        nodes = list(self._grid.get_nodes())
        if self._keys is None:
            names = [f"node {node.node_id}" for node in nodes]
        else:
            known = (self._keys.get(bytes(node.public_key)) for node in nodes)
            names = [name for name in known if name is not None]
        self._tally.reached(names)
        return nodes

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages."""
        sent = list(self._grid.push_messages(messages))
        self._tally.phase = self._asking
        self._tally.reached()
        return sent

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies that have arrived."""
        replies = list(self._grid.pull_messages(message_ids))
        self._tally.reached()
        return replies
