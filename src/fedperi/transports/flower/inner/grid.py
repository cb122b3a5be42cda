"""Send the messages of one run at the coordinator, and receive the replies in the order in which they arrive.

When the head of a reply has arrived, Flower's own grid waits minutes for its parts, and receives no other reply in this
time. So a site that is cut off in the middle of its reply would stop the coordinator. This grid never waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..live.repeat import at_once
from .messages import is_whole, names_of, push_parts, put_together, taken_apart

LOOK = 1.0
"""Seconds between two checks whether the sender of an unfinished reply is still connected."""


@dataclass
class _Arriving:
    """A reply whose head has arrived (perhaps with all of its content), and its parts so far."""

    head: Any
    tree: Any
    parts: dict[str, bytes] = field(default_factory=dict)
    lost: bool = False

    def __post_init__(self) -> None:
        self.missing = [] if is_whole(self.head) else names_of(self.tree)


class RunGrid:
    """The grid of one run (see `fedperi.transports.flower.exchange.Grid`), by a client with the token of its task."""

    def __init__(self, client: Any, run: int) -> None:
        from flwr.common.constant import SUPERLINK_NODE_ID
        from flwr.proto.node_pb2 import Node

        self._client, self._run, self._own = client, run, Node(node_id=SUPERLINK_NODE_ID)
        self._arriving: dict[str, _Arriving] = {}  # by the identifier of the message that it replies to
        self._looked = 0.0
        self._accepts_whole: set[int] = set()  # nodes that have replied in one request; others may expect parts

    def get_nodes(self) -> Iterable[Any]:
        """Return the nodes that are connected."""
        from flwr.proto.runtime_pb2 import GetNodesRequest

        return list(self._client.GetNodes(GetNodesRequest()).nodes)

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        """Send messages, and return their identifiers."""
        from flwr.proto.runtime_pb2 import PushAppMessagesRequest

        heads, trees, parts = taken_apart(
            list(messages), lambda message: message.metadata.dst_node_id not in self._accepts_whole
        )
        accepted = self._client.PushMessages(PushAppMessagesRequest(messages_list=heads, message_object_trees=trees))
        push_parts(self._client, self._own, self._run, accepted, parts)
        return list(accepted.message_ids)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        """Return the complete replies to these messages, and an error for each reply that cannot be completed."""
        wanted = set(message_ids)
        self._arriving = {name: reply for name, reply in self._arriving.items() if name in wanted}
        self._pull_heads(wanted - set(self._arriving))
        pieces = [(reply, part) for reply in self._arriving.values() for part in reply.missing]
        at_once(lambda piece: self._pull_part(*piece), pieces)
        self._give_up_cut_off()
        ended = {name: reply for name, reply in self._arriving.items() if reply.lost or not reply.missing}
        for name in ended:
            del self._arriving[name]
        return [self._message(reply) for reply in ended.values()]

    def _pull_heads(self, wanted: set[str]) -> None:
        from flwr.common.serde import message_from_proto
        from flwr.proto.runtime_pb2 import PullAppMessagesRequest

        if not wanted:
            return
        found = self._client.PullMessages(PullAppMessagesRequest(message_ids=sorted(wanted)))
        for head, tree in zip(found.messages_list, found.message_object_trees, strict=True):
            self._arriving[head.metadata.reply_to_message_id] = arriving = _Arriving(message_from_proto(head), tree)
            if not tree.children:
                self._accepts_whole.add(arriving.head.metadata.src_node_id)

    def _pull_part(self, reply: _Arriving, part: str) -> None:
        from flwr.proto.message_pb2 import PullObjectRequest

        found = self._client.PullObject(PullObjectRequest(node=self._own, run_id=self._run, object_id=part))
        if found.object_found and found.object_available:
            reply.parts[part] = found.object_content
            reply.missing.remove(part)
        reply.lost = reply.lost or not found.object_found  # the SuperLink deletes parts that were not sent in time

    def _give_up_cut_off(self) -> None:
        """Give up replies whose sender is disconnected: it could complete them only on a new connection."""
        unfinished = [reply for reply in self._arriving.values() if reply.missing and not reply.lost]
        if unfinished and time.monotonic() > self._looked + LOOK:
            self._looked = time.monotonic()
            here = {node.node_id for node in self.get_nodes()}
            for reply in unfinished:
                reply.lost = reply.head.metadata.src_node_id not in here

    def _message(self, reply: _Arriving) -> Any:
        from flwr.app import Error
        from flwr.app.message import make_message
        from flwr.common.constant import ErrorCode
        from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest

        if reply.lost:
            reason = "Node unavailable: it was cut off while it replied."
            return make_message(metadata=reply.head.metadata, error=Error(ErrorCode.NODE_UNAVAILABLE, reason))
        if is_whole(reply.head):
            return reply.head
        name = reply.tree.object_id
        self._client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=self._own, run_id=self._run, message_object_id=name)
        )
        return put_together(reply.tree, reply.parts)
