"""A node's connection to a SuperLink: Flower's interface for nodes, without the part that fetches and runs programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from ...errors import InputError
from .address import Address, Away

HEARTBEAT = 10.0
"""Seconds after which the coordinator takes a silent site for lost, about; the shortest that Flower allows."""


class Unauthorized(Exception):
    """The coordinator does not know the key."""


class RunOver(Exception):
    """The run of a message has ended: nobody waits for the reply."""


@contextmanager
def _while_it_runs() -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code == 403:
            raise RunOver from None
        raise


@dataclass(frozen=True)
class FleetNode:
    """A connection that is registered with the SuperLink."""

    client: Any
    node: Any

    def receive(self) -> Any:
        """Return the next message, whole, or None."""
        with _while_it_runs():
            return self._receive()

    def _receive(self) -> Any:
        from flwr.common.serde import message_from_proto
        from flwr.proto.fleet_pb2 import PullMessagesRequest
        from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
        from flwr.supercore.inflatable.inflatable_protobuf_utils import (
            make_confirm_message_received_fn_protobuf,
            make_pull_object_fn_protobuf,
        )
        from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents, pull_objects

        found = self.client.PullMessages(PullMessagesRequest(node=self.node))
        if not found.messages_list:
            return None
        header, tree = message_from_proto(found.messages_list[0]), found.message_object_trees[0]
        run = header.metadata.run_id
        pull = make_pull_object_fn_protobuf(self.client.PullObject, self.node, run)
        parts = pull_objects([part.object_id for part in iterate_object_tree(tree)], pull, initial_backoff=0.1)
        make_confirm_message_received_fn_protobuf(self.client.ConfirmMessageReceived, self.node, run)(
            header.metadata.message_id
        )
        message: Any = inflate_object_from_contents(tree.object_id, parts)
        message.metadata.__dict__["_message_id"] = tree.object_id
        return message

    def send(self, reply: Any, seconds: float) -> None:
        """Send a reply, whole."""
        with _while_it_runs():
            self._send(reply, seconds)

    def _send(self, reply: Any, seconds: float) -> None:
        from flwr.app.message import remove_content_from_message
        from flwr.common.serde import message_to_proto
        from flwr.proto.fleet_pb2 import PushMessagesRequest
        from flwr.supercore.inflatable.inflatable_object import (
            get_all_nested_objects,
            get_object_tree,
            no_object_id_recompute,
        )
        from flwr.supercore.inflatable.inflatable_protobuf_utils import make_push_object_fn_protobuf

        reply.metadata.__dict__["_message_id"] = reply.object_id
        with no_object_id_recompute():
            parts = get_all_nested_objects(reply)
            request = PushMessagesRequest(
                node=self.node,
                messages_list=[message_to_proto(remove_content_from_message(reply))],
                message_object_trees=[get_object_tree(reply)],
                clientapp_runtime_list=[seconds],
            )
            taken = self.client.PushMessages(request)
            run = reply.metadata.run_id
            push = make_push_object_fn_protobuf(self.client.PushObject, self.node, run, taken.session_id)
            for name in taken.objects_to_push:
                push(name, parts[name].deflate())


@contextmanager
def connected(address: Address, key: Any) -> Iterator[FleetNode]:
    """Register with the SuperLink, beat in the background, and sign off at the end."""
    import httpx
    from flwr.proto.fleet_pb2 import (
        ActivateNodeRequest,
        DeactivateNodeRequest,
        RegisterNodeFleetRequest,
        UnregisterNodeFleetRequest,
    )
    from flwr.proto.node_pb2 import Node
    from flwr.supercore.interceptors.http.runtime_version import RuntimeVersionHttpInterceptor
    from flwr.supercore.primitives.asymmetric import generate_key_pairs, public_key_to_bytes
    from flwr.supernode.fleet_http_client import FleetHttpClient
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    private = key if key is not None else generate_key_pairs()[0]
    public = public_key_to_bytes(private.public_key())
    with FleetHttpClient.from_server_address(
        address.coordinator,
        address.insecure,
        None if address.ca is None else str(address.ca),
        interceptors=[
            RuntimeVersionHttpInterceptor(component_name="SuperNode"),
            NodeAuthHttpInterceptor(private, private.public_key()),
        ],
    ) as client:
        done = threading.Event()
        node = None
        try:
            try:
                if key is None:
                    client.RegisterNode(RegisterNodeFleetRequest(public_key=public))
                active = client.ActivateNode(ActivateNodeRequest(public_key=public, heartbeat_interval=HEARTBEAT))
            except httpx.HTTPStatusError as error:
                _explain(error, address, key is not None)
            node = Node(node_id=active.node_id)
            threading.Thread(target=_beat, args=(client, node, done), daemon=True).start()
            yield FleetNode(client, node)
        except httpx.HTTPError as error:
            raise Away(f"the connection to {address.coordinator} was lost ({error})") from None
        finally:
            done.set()
            if node is not None:
                _quietly(lambda: client.DeactivateNode(DeactivateNodeRequest(node_id=node.node_id)))
                if key is None:
                    _quietly(lambda: client.UnregisterNode(UnregisterNodeFleetRequest(node_id=node.node_id)))


def _explain(error: Any, address: Address, keyed: bool) -> NoReturn:
    """Say in words what a status of the SuperLink means for a site."""
    from flwr.supercore.error import FlowerError

    status = error.response.status_code
    told = FlowerError.from_json(error.response.text)
    said = f"{told.code}: {told.message}" if told is not None else f"HTTP {status}"
    if status in (401, 403, 404) or "activat" in said.lower() or "regist" in said.lower():
        remedy = (
            "it is not registered there (its .pub file belongs into the coordinator's folder of keys), a site with the "
            "same key is connected, or a clock is wrong"
            if keyed
            else "give the site's key: --key site.key"
        )
        raise Unauthorized(f"the coordinator does not accept this site's key ({said}): {remedy}")
    if "version" in said.lower():
        raise InputError(f"the coordinator runs another version of Flower ({said}): install the same on both sides")
    raise Away(f"{address.coordinator} answered {said}")


def _beat(client: Any, node: Any, done: threading.Event) -> None:
    from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest

    request = SendNodeHeartbeatRequest(node=node, heartbeat_interval=HEARTBEAT)
    while not done.wait(HEARTBEAT / 3):
        _quietly(lambda: client.SendNodeHeartbeat(request))


def _quietly(call: Callable[[], object]) -> None:
    """Call, and let it fail: who beats or signs off cannot do more if nobody listens."""
    import httpx

    with suppress(httpx.HTTPError, RuntimeError):
        call()
