"""The one module that uses Flower's inner interfaces, those that Flower does not promise to keep.

Sites and coordinator use Flower's network interfaces directly, so that no process of ours ever loads code that came
over the network. Everything else in this folder uses Flower's public names only (``flwr.app``, ``flwr.clientapp``,
``flwr.serverapp``). ``tests/transports/test_flower_contract.py`` says for each inner interface what we need it for:
when a new version of Flower changes one, that test fails first, and this module is what has to change.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from .address import Own
from .live.certificate import renewing_context
from .live.repeat import AT_ONCE, at_once, meanwhile, quietly, repeated

KEY_HEADER = "flwr-public-key"
"""Header that holds the public key of a node, base64."""

ACQUIRE_TASK = "/flwr.proto.Runtime/AcquireTask"
SERVER_TASK = "flwr-serverapp"
CLOCKS = 300
"""Seconds by which the clocks of a site and the coordinator may differ."""

KEPT = 60
"""Seconds for which an idle connection is kept: to set one up takes four round trips, to use it one."""

TASK_HEARTBEAT = 5.0
"""Seconds between two signs of life of a run."""


# -- the SuperLink -------------------------------------------------------------------------------------------------


def run_superlink(wrap: Callable[[Any], Any]) -> None:
    """Run Flower's SuperLink in this process, with the options of its command line, behind a wrapper of its web app."""
    import uvicorn
    from flwr.superlink.cli.flower_superlink import flower_superlink

    # Flower allows a site's clock to be 300 s behind, but only 5 s ahead, and calls the rest a wrong key.
    import_module("flwr.superlink.routers.fleet.node_auth").__dict__["SYSTEM_TIME_TOLERANCE"] = CLOCKS
    serve = uvicorn.run

    def run(app: Any, **options: Any) -> None:
        # No proxy headers: any client could otherwise claim to be this machine. No line in the log for every look for
        # messages: sites look several times a second.
        options |= {"proxy_headers": False, "access_log": False, "timeout_keep_alive": KEPT}
        if options.get("ssl_certfile"):
            options["ssl_context_factory"] = renewing_context
        serve(wrap(app), **options)

    uvicorn.run = run
    flower_superlink()


# -- the coordinator's side ----------------------------------------------------------------------------------------


def register_node(own: Own, name: str, key: bytes) -> int:
    """Tell a SuperLink the public key of a site, which may then connect, and return the number of its node."""
    from flwr.proto.control_pb2 import RegisterNodeRequest
    from flwr.supercore.control import ControlHttpClient

    with _client(ControlHttpClient, own, "flwr CLI") as client:
        return int(client.RegisterNode(RegisterNodeRequest(public_key=key, name=name)).node_id)


def unregister_node(own: Own, node: int) -> None:
    """Tell a SuperLink that a site may not connect any more."""
    from flwr.proto.control_pb2 import UnregisterNodeRequest
    from flwr.supercore.control import ControlHttpClient

    with _client(ControlHttpClient, own, "flwr CLI") as client:
        client.UnregisterNode(UnregisterNodeRequest(node_id=node))


def start_run(own: Own, files: Mapping[str, str]) -> bool:
    """Begin a run with an app bundle made of these files; return whether the SuperLink did."""
    from flwr.cli.build import build_fab_from_files
    from flwr.common.serde import fab_to_proto, user_config_to_proto
    from flwr.proto.control_pb2 import StartRunRequest
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.fab import Fab

    bundle = build_fab_from_files({name: text.encode() for name, text in files.items()})[0]
    fab = fab_to_proto(Fab(hashlib.sha256(bundle).hexdigest(), bundle, {}))
    with _client(ControlHttpClient, own, "flwr CLI") as client:
        request = StartRunRequest(fab=fab, override_config=user_config_to_proto({}), federation="", app_spec="")
        return bool(client.StartRun(request).run_id)


def acquire_task(own: Own, secret: bytes, seconds: float) -> str | None:
    """Take the task of a run that was begun, and return its token; None if there was none in time."""
    from flwr.proto.runtime_pb2 import AcquireTaskRequest
    from flwr.supercore.interceptors import SuperExecAuthHttpInterceptor
    from flwr.supercore.runtime import RuntimeHttpClient

    only_we = SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods=frozenset({ACQUIRE_TASK}))
    end = time.monotonic() + seconds
    with _client(RuntimeHttpClient, own, "SuperExec", only_we) as client:
        while time.monotonic() < end:
            taken = client.AcquireTask(AcquireTaskRequest(supported_task_types=[SERVER_TASK]))
            if taken.HasField("task"):
                return str(taken.token)
            time.sleep(0.1)
    return None


@contextmanager
def open_grid(own: Own, token: str) -> Iterator[Any]:
    """Give the grid of a task, keep the task alive, and report its end."""
    import httpx
    from flwr.common.constant import SubStatus
    from flwr.common.serde import run_from_proto
    from flwr.proto.runtime_pb2 import PullTaskInputRequest, PushTaskOutputRequest, SendTaskHeartbeatRequest
    from flwr.supercore.retry import RetryInvoker, exponential
    from flwr.supercore.task_identity import TaskIdentity
    from flwr.superlink.grid import HttpGrid

    grid = HttpGrid(own.address, own.root is None, own.root, token=token)
    # Flower's own retries never end, and answer a lost authorization with a signal to this process.
    waits = lambda: exponential(max_delay=2)  # noqa: E731
    grid._retry_invoker = RetryInvoker(waits, httpx.TransportError, max_tries=None, max_time=10)
    client = grid._runtime_client
    _expect(client, own)
    task = client.PullTaskInput(PullTaskInputRequest())
    TaskIdentity.task_id, TaskIdentity.run_id = task.task_id, task.run.run_id
    TaskIdentity.node_id = task.context.node_id
    grid.set_run(run_from_proto(task.run))
    status, details = SubStatus.FAILED, "stopped"
    with repeated(TASK_HEARTBEAT, lambda: client.SendTaskHeartbeat(SendTaskHeartbeatRequest())):
        try:
            yield grid
            status, details = SubStatus.COMPLETED, ""
        finally:
            grid._retry_invoker.max_tries = 1
            with suppress(httpx.HTTPError):
                client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=details))
            with suppress(httpx.HTTPError):
                grid.close()


def _client(of: Any, own: Own, component: str, *interceptors: Any) -> Any:
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

    client = of.from_server_address(
        server_address=own.address,
        insecure=own.root is None,
        root_certificates=own.root,
        interceptors=[RuntimeVersionHttpInterceptor(component_name=component), *interceptors],
    )
    _expect(client, own)
    return client


def _expect(client: Any, own: Own) -> None:
    """Have a client compare the certificate with the name it is issued for, whatever the address it connects to."""

    def name(request: Any) -> None:
        request.extensions = {**request.extensions, "sni_hostname": own.name}

    if own.root is not None:
        client._client.event_hooks = {"request": [name]}


# -- a site's side -------------------------------------------------------------------------------------------------


def new_key() -> Any:
    """Draw a private key for a connection without authentication."""
    from flwr.supercore.primitives.asymmetric import generate_key_pairs

    return generate_key_pairs()[0]


def fleet_client(address: str, ca: str | None, insecure: bool, key: Any) -> Any:
    """Return a connection to a SuperLink's interface for nodes, to be used in a ``with`` statement."""
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
    with suppress(AttributeError):  # of httpx: without it, messages only take longer
        transport: Any = client._client._transport
        transport._pool._keepalive_expiry = KEPT - 5
    return client


def activate_node(client: Any, key: Any, interval: float, register: bool) -> Any:
    """Register a node, if its key is not registered by the coordinator, and activate it."""
    from flwr.proto.fleet_pb2 import ActivateNodeRequest, RegisterNodeFleetRequest
    from flwr.proto.node_pb2 import Node
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    public = public_key_to_bytes(key.public_key())
    if register:
        client.RegisterNode(RegisterNodeFleetRequest(public_key=public))
    active = client.ActivateNode(ActivateNodeRequest(public_key=public, heartbeat_interval=interval))
    return Node(node_id=active.node_id)


@contextmanager
def kept_alive(client: Any, node: Any, interval: float, unregister: bool) -> Iterator[None]:
    """Send heartbeats of an active node in the background, and deactivate it at the end."""
    from flwr.proto.fleet_pb2 import DeactivateNodeRequest, UnregisterNodeFleetRequest
    from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest

    beat = SendNodeHeartbeatRequest(node=node, heartbeat_interval=interval)
    for _ in range(AT_ONCE - 1):  # the connections for the parts of the first message, set up before it comes
        meanwhile(lambda: client.SendNodeHeartbeat(beat))
    try:
        with repeated(interval / 3, lambda: client.SendNodeHeartbeat(beat)):
            yield
    finally:
        quietly(lambda: client.DeactivateNode(DeactivateNodeRequest(node_id=node.node_id)))
        if unregister:
            quietly(lambda: client.UnregisterNode(UnregisterNodeFleetRequest(node_id=node.node_id)))


def pull_message(client: Any, node: Any) -> Any:
    """Return the next message for a node, whole, or None; also None if its run ended while it was on the way."""
    from flwr.common.serde import message_from_proto
    from flwr.proto.fleet_pb2 import PullMessagesRequest
    from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
    from flwr.supercore.inflatable.inflatable_protobuf_utils import (
        make_confirm_message_received_fn_protobuf,
        make_pull_object_fn_protobuf,
    )
    from flwr.supercore.inflatable.inflatable_utils import (
        ObjectPullError,
        inflate_object_from_contents,
        pull_objects,
    )

    found = client.PullMessages(PullMessagesRequest(node=node))
    if not found.messages_list:
        return None
    header, tree = message_from_proto(found.messages_list[0]), found.message_object_trees[0]
    run = header.metadata.run_id
    pull = make_pull_object_fn_protobuf(client.PullObject, node, run)
    try:
        names = [part.object_id for part in iterate_object_tree(tree)]
        # One by one: for several, Flower takes no more threads than the machine has processors.
        pulled = at_once(lambda name: pull_objects([name], pull, initial_backoff=0.1), names)
    except ObjectPullError:
        return None
    # Meanwhile, not before: it only frees memory at the other end, and would cost a round trip.
    confirm = make_confirm_message_received_fn_protobuf(client.ConfirmMessageReceived, node, run)
    meanwhile(lambda: confirm(header.metadata.message_id))
    parts = {name: content for part in pulled for name, content in part.items()}
    message: Any = inflate_object_from_contents(tree.object_id, parts)
    message.metadata.__dict__["_message_id"] = tree.object_id
    return message


def push_reply(client: Any, node: Any, reply: Any, seconds: float) -> None:
    """Send a node's reply, whole, and how long it took."""
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
            node=node,
            messages_list=[message_to_proto(remove_content_from_message(reply))],
            message_object_trees=[get_object_tree(reply)],
            clientapp_runtime_list=[seconds],
        )
        taken = client.PushMessages(request)
        push = make_push_object_fn_protobuf(client.PushObject, node, reply.metadata.run_id, taken.session_id)
        at_once(lambda name: push(name, parts[name].deflate()), taken.objects_to_push)


def error_text(response: str) -> str | None:
    """Read the code and the words of an error that a SuperLink answered with; None if it is not such an answer."""
    from flwr.supercore.error import FlowerError

    told = FlowerError.from_json(response)
    return None if told is None else f"{told.code}: {told.message}"
