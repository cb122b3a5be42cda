"""A site's side of the network: it connects, takes messages, and sends replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ..live.repeat import at_once, quietly, repeated
from .messages import is_whole, names_of, push_parts, put_together, taken_apart
from .superlink import KEPT

MOST_WAIT = 60.0
"""Seconds that a site waits for the parts of a message after its head: the coordinator may be lost in between."""


class RunOver(Exception):
    """The run of a message has ended: nobody waits for the reply."""


def new_key() -> Any:
    """Generate a private key for a connection without authentication."""
    from flwr.supercore.primitives.asymmetric import generate_key_pairs

    return generate_key_pairs()[0]


def fleet_client(address: str, ca: str | None, insecure: bool, key: Any) -> Any:
    """Return a client for a SuperLink's interface for nodes; use it in a ``with`` statement."""
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
    from flwr.supernode.fleet_http_client import FleetHttpClient
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    client = FleetHttpClient.from_server_address(
        address,
        insecure,
        ca,
        interceptors=[
            RuntimeVersionHttpInterceptor(component_name="SuperNode"),
            NodeAuthHttpInterceptor(key, key.public_key()),
        ],
    )
    with suppress(AttributeError):  # an inner attribute of httpx; without it, messages only take longer
        transport: Any = client._client._transport
        transport._pool._keepalive_expiry = KEPT - 5
    return client


def activate_node(client: Any, key: Any, interval: float, register: bool) -> Any:
    """Activate a node; register it first if the coordinator does not register keys."""
    from flwr.proto.fleet_pb2 import ActivateNodeRequest, RegisterNodeFleetRequest
    from flwr.proto.node_pb2 import Node
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    public = public_key_to_bytes(key.public_key())
    if register:
        client.RegisterNode(RegisterNodeFleetRequest(public_key=public))
    active = client.ActivateNode(ActivateNodeRequest(public_key=public, heartbeat_interval=interval))
    return Node(node_id=active.node_id)


@contextmanager
def kept_alive(client: Any, beats: Any, node: Any, interval: float, unregister: bool) -> Iterator[None]:
    """Send heartbeats of an active node in the background, with the client `beats`; deactivate the node at the end."""
    from flwr.proto.fleet_pb2 import DeactivateNodeRequest, UnregisterNodeFleetRequest
    from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest

    beat = SendNodeHeartbeatRequest(node=node, heartbeat_interval=interval)
    try:
        with repeated(interval / 3, lambda: beats.SendNodeHeartbeat(beat), beats):
            yield
    finally:
        quietly(lambda: client.DeactivateNode(DeactivateNodeRequest(node_id=node.node_id)))
        if unregister:
            quietly(lambda: client.UnregisterNode(UnregisterNodeFleetRequest(node_id=node.node_id)))


@contextmanager
def _run_over_at_403() -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code == 403:
            raise RunOver from None
        raise


@dataclass
class FleetNode:
    """An active node of a SuperLink, which receives messages and replies to the last one."""

    client: Any
    node: Any
    _whole: bool = True  # whether the last message came in one piece; a coordinator that sends parts expects parts

    @_run_over_at_403()
    def receive(self) -> Any:
        """Return the next message; None if there is none, or its run has ended."""
        from flwr.common.serde import message_from_proto
        from flwr.proto.fleet_pb2 import PullMessagesRequest
        from flwr.supercore.inflatable.inflatable_protobuf_utils import (
            make_confirm_message_received_fn_protobuf,
            make_pull_object_fn_protobuf,
        )
        from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, pull_objects

        found = self.client.PullMessages(PullMessagesRequest(node=self.node))
        if not found.messages_list:
            self._whole = True
            return None
        header, tree = message_from_proto(found.messages_list[0]), found.message_object_trees[0]
        self._whole = is_whole(header)
        if self._whole:
            return header
        run = header.metadata.run_id
        pull = make_pull_object_fn_protobuf(self.client.PullObject, self.node, run)
        parts: dict[str, bytes] = {}
        try:
            # In calls of one part each: for several, Flower starts no more threads than the machine has processors.
            for part in at_once(
                lambda name: pull_objects([name], pull, initial_backoff=0.1, max_time=MOST_WAIT), names_of(tree)
            ):
                parts |= part
        except ObjectPullError:
            return None
        confirm = make_confirm_message_received_fn_protobuf(self.client.ConfirmMessageReceived, self.node, run)
        quietly(lambda: confirm(header.metadata.message_id))  # frees memory at the other end
        return put_together(tree, parts)

    @_run_over_at_403()
    def send(self, reply: Any, seconds: float) -> None:
        """Send the reply and how long it took; in one request if it is small and the message came in one piece."""
        from flwr.proto.fleet_pb2 import PushMessagesRequest

        heads, trees, parts = taken_apart([reply], lambda message: not self._whole)
        request = PushMessagesRequest(
            node=self.node, messages_list=heads, message_object_trees=trees, clientapp_runtime_list=[seconds]
        )
        push_parts(self.client, self.node, reply.metadata.run_id, self.client.PushMessages(request), parts)
