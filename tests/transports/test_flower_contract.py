"""The inner interfaces of Flower that we use without a promise, and what breaks when one changes.

`fedperi.transports.flower.inner` is the only folder that uses these. When a test here fails after an update of Flower,
its message says which part of the network to check; when all pass, raise the range in pyproject.toml and `TESTED`.
"""

import ast
import importlib
import inspect
import os
import re
import ssl
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import fedperi
from fedperi.errors import InputError

pytest.importorskip("flwr")

from fedperi.transports import flower
from fedperi.transports.flower import TESTED, link, need_flower
from fedperi.transports.flower.bundle import FILES
from fedperi.transports.flower.inner import control, fleet
from fedperi.transports.flower.inner.messages import WHOLE, is_whole, names_of, put_together, taken_apart
from fedperi.transports.flower.inner.superlink import KEPT, KEY_HEADER

PACKAGE = Path(fedperi.__file__).parent
INNER = PACKAGE / "transports" / "flower" / "inner"

CONTROL, TASK = "the coordinator registers sites and begins runs", "the coordinator takes the task of its run"
ASK, LOST = "the coordinator sends messages and takes replies", "a site that is cut off in a reply is asked again"
CONNECT, PULL, PUSH = "a site connects to the coordinator", "a site receives messages", "a site sends replies"

USED = {
    "flwr.superlink.cli.flower_superlink:flower_superlink": "the coordinator starts its SuperLink",
    "flwr.proto.control_pb2:RegisterNodeRequest": CONTROL,
    "flwr.proto.control_pb2:UnregisterNodeRequest": "a site whose key is withdrawn is shut out in a run",
    "flwr.proto.control_pb2:StartRunRequest": CONTROL,
    "flwr.supercore.control:ControlHttpClient": CONTROL,
    "flwr.cli.build:build_fab_from_files": "a run of Flower needs an app bundle",
    "flwr.supercore.fab:Fab": "a run of Flower needs an app bundle",
    "flwr.common.serde:fab_to_proto": "a run of Flower needs an app bundle",
    "flwr.common.serde:user_config_to_proto": CONTROL,
    "flwr.proto.runtime_pb2:AcquireTaskRequest": TASK,
    "flwr.supercore.interceptors:SuperExecAuthHttpInterceptor": "nobody else can take the task of a run",
    "flwr.supercore.interceptors:RuntimeVersionHttpInterceptor": "a SuperLink answers only clients of its version",
    "flwr.supercore.runtime:RuntimeHttpClient": TASK,
    "flwr.common.constant:SubStatus": "the end of a run is reported",
    "flwr.proto.runtime_pb2:PullTaskInputRequest": TASK,
    "flwr.proto.runtime_pb2:PushTaskOutputRequest": "the end of a run is reported",
    "flwr.proto.runtime_pb2:SendTaskHeartbeatRequest": "a run is kept alive",
    "flwr.supercore.retry:RetryInvoker": "a SuperLink that is gone is an error after 30 s, not an endless wait",
    "flwr.supercore.retry:exponential": "a SuperLink that is gone is an error after 30 s, not an endless wait",
    "flwr.supercore.task_identity:TaskIdentity": "the grid knows its task",
    "flwr.supercore.interceptors:RuntimeTokenHttpInterceptor": TASK,
    "flwr.common.constant:SUPERLINK_NODE_ID": "the coordinator's own number",
    "flwr.common.constant:ErrorCode": LOST,
    "flwr.app.message:make_message": LOST,
    "flwr.proto.runtime_pb2:GetNodesRequest": "the coordinator sees which sites are connected",
    "flwr.proto.runtime_pb2:PushAppMessagesRequest": ASK,
    "flwr.proto.runtime_pb2:PullAppMessagesRequest": ASK,
    "flwr.proto.message_pb2:PullObjectRequest": ASK,
    "flwr.proto.message_pb2:ConfirmMessageReceivedRequest": ASK,
    "flwr.supercore.primitives.asymmetric:generate_key_pairs": CONNECT,
    "flwr.supercore.primitives.asymmetric:public_key_to_bytes": CONNECT,
    "flwr.supernode.fleet_http_client:FleetHttpClient": CONNECT,
    "flwr.supernode.node_auth_http_interceptor:NodeAuthHttpInterceptor": "a site signs its requests with its key",
    "flwr.proto.fleet_pb2:ActivateNodeRequest": CONNECT,
    "flwr.proto.fleet_pb2:RegisterNodeFleetRequest": CONNECT,
    "flwr.proto.node_pb2:Node": CONNECT,
    "flwr.proto.fleet_pb2:DeactivateNodeRequest": "a site signs off",
    "flwr.proto.fleet_pb2:UnregisterNodeFleetRequest": "a site signs off",
    "flwr.proto.heartbeat_pb2:SendNodeHeartbeatRequest": "a site is known to be alive",
    "flwr.common.serde:message_from_proto": PULL,
    "flwr.proto.fleet_pb2:PullMessagesRequest": PULL,
    "flwr.supercore.inflatable.inflatable_object:iterate_object_tree": PULL,
    "flwr.supercore.inflatable.inflatable_protobuf_utils:make_confirm_message_received_fn_protobuf": PULL,
    "flwr.supercore.inflatable.inflatable_protobuf_utils:make_pull_object_fn_protobuf": PULL,
    "flwr.supercore.inflatable.inflatable_utils:ObjectPullError": PULL,
    "flwr.supercore.inflatable.inflatable_utils:inflate_object_from_contents": PULL,
    "flwr.supercore.inflatable.inflatable_utils:pull_objects": PULL,
    "flwr.app.message:remove_content_from_message": PUSH,
    "flwr.common.serde:message_to_proto": PUSH,
    "flwr.proto.message_pb2:ObjectTree": "a small message travels in one request",
    "flwr.proto.fleet_pb2:PushMessagesRequest": PUSH,
    "flwr.supercore.inflatable.inflatable_object:get_all_nested_objects": PUSH,
    "flwr.supercore.inflatable.inflatable_object:get_object_tree": PUSH,
    "flwr.supercore.inflatable.inflatable_object:no_object_id_recompute": PUSH,
    "flwr.supercore.inflatable.inflatable_protobuf_utils:make_push_object_fn_protobuf": PUSH,
    "flwr.supercore.error:FlowerError": "a site explains why the coordinator refused it",
}

REQUESTS = {
    "flwr.supercore.control:ControlHttpClient": "RegisterNode UnregisterNode StartRun",
    "flwr.supercore.runtime:RuntimeHttpClient": "AcquireTask PullTaskInput PushTaskOutput SendTaskHeartbeat "
    "GetNodes PushMessages PullMessages PushObject PullObject ConfirmMessageReceived",
    "flwr.supernode.fleet_http_client:FleetHttpClient": "RegisterNode ActivateNode SendNodeHeartbeat DeactivateNode "
    "UnregisterNode PullMessages PullObject ConfirmMessageReceived PushMessages PushObject",
}

FIELDS = {
    "flwr.proto.control_pb2:RegisterNodeRequest": "public_key name",
    "flwr.proto.control_pb2:StartRunRequest": "fab override_config federation app_spec",
    "flwr.proto.control_pb2:RegisterNodeResponse": "node_id",
    "flwr.proto.control_pb2:UnregisterNodeRequest": "node_id",
    "flwr.proto.control_pb2:StartRunResponse": "run_id",
    "flwr.proto.runtime_pb2:AcquireTaskRequest": "supported_task_types",
    "flwr.proto.runtime_pb2:AcquireTaskResponse": "task token",
    "flwr.proto.runtime_pb2:PullTaskInputResponse": "task_id run context",
    "flwr.proto.runtime_pb2:PushTaskOutputRequest": "sub_status details",
    "flwr.proto.runtime_pb2:GetNodesResponse": "nodes",
    "flwr.proto.runtime_pb2:PushAppMessagesRequest": "messages_list message_object_trees",
    "flwr.proto.runtime_pb2:PushAppMessagesResponse": "message_ids objects_to_push session_id",
    "flwr.proto.runtime_pb2:PullAppMessagesRequest": "message_ids",
    "flwr.proto.runtime_pb2:PullAppMessagesResponse": "messages_list message_object_trees",
    "flwr.proto.message_pb2:Message": "metadata content error",
    "flwr.proto.message_pb2:ObjectTree": "object_id children",
    "flwr.proto.message_pb2:PullObjectRequest": "node run_id object_id",
    "flwr.proto.message_pb2:PullObjectResponse": "object_found object_available object_content",
    "flwr.proto.message_pb2:ConfirmMessageReceivedRequest": "node run_id message_object_id",
    "flwr.proto.fleet_pb2:ActivateNodeRequest": "public_key heartbeat_interval",
    "flwr.proto.fleet_pb2:ActivateNodeResponse": "node_id",
    "flwr.proto.fleet_pb2:PullMessagesResponse": "messages_list message_object_trees",
    "flwr.proto.fleet_pb2:PushMessagesRequest": "node messages_list message_object_trees clientapp_runtime_list",
    "flwr.proto.fleet_pb2:PushMessagesResponse": "objects_to_push session_id",
    "flwr.proto.heartbeat_pb2:SendNodeHeartbeatRequest": "node heartbeat_interval",
    "flwr.proto.node_pb2:NodeInfo": "node_id public_key last_activated_at",
}


def found(name: Any) -> Any:
    module, attribute = name.split(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        purpose = USED.get(name, "messages between coordinator and sites")
        pytest.fail(f"this Flower has no {name}. We need it because {purpose}: see transports/flower/inner")


def flower_imports(path: Any) -> Any:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flwr" and not node.level:
            yield from (f"{node.module}:{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (f"{alias.name}:" for alias in node.names if alias.name.split(".")[0] == "flwr")


@pytest.mark.parametrize("name", USED)
def test_what_we_import_exists(name: Any) -> None:
    assert found(name) is not None


@pytest.mark.parametrize("name", REQUESTS)
def test_clients_have_the_requests_that_we_make(name: Any) -> None:
    client = found(name)
    missing = [request for request in REQUESTS[name].split() if not hasattr(client, request)]
    assert not missing, f"{name} has no request {missing}. We need it because {USED[name]}"
    known = inspect.signature(client.from_server_address).parameters
    assert {"server_address", "insecure", "root_certificates", "interceptors"} <= set(known) or "args" in known


@pytest.mark.parametrize("name", FIELDS)
def test_messages_have_the_fields_that_we_use(name: Any) -> None:
    known = found(name).DESCRIPTOR.fields_by_name
    missing = [field for field in FIELDS[name].split() if field not in known]
    assert not missing, f"the message {name} has no field {missing}, which transports/flower/inner reads or writes"


def test_retries_have_an_end_that_we_set() -> None:
    """Flower's own retries never end: we would wait for a lost SuperLink forever."""
    client, retries = found("flwr.supercore.runtime:RuntimeHttpClient"), found("flwr.supercore.retry:RetryInvoker")
    assert "retry_invoker" in inspect.signature(client.from_server_address).parameters
    assert {"max_tries", "max_time"} <= set(inspect.signature(retries).parameters)


@pytest.fixture
def in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow to make messages, as in a process that has a task of Flower."""
    task = found("flwr.supercore.task_identity:TaskIdentity")
    for name in ("_task_id", "_run_id", "_node_id"):
        monkeypatch.setattr(task, name, 1)  # restored at the end: other tests may be in the middle of a run


def message_of(block: bytes = b"") -> Any:
    from flwr.app import ConfigRecord, Message, RecordDict

    return Message(RecordDict({"values": ConfigRecord({"protocol": 3, "block": block})}), 1, "query.hello")


def test_a_small_message_is_its_head(in_a_run: None) -> None:
    """Both sides handle it, without a network in between."""
    message = message_of()
    assert "_message_id" in message.metadata.__dict__, "a message keeps its identifier elsewhere: replies get lost"
    (head,), (tree,), parts = taken_apart([message])
    assert head.metadata.message_id == tree.object_id == message.object_id
    assert not parts and not tree.children
    again = found("flwr.common.serde:message_from_proto")(head)
    assert is_whole(again), "heads have no content any more: a message costs nine requests instead of two"
    assert again.content["values"]["protocol"] == 3
    assert again.metadata.message_id == tree.object_id


@pytest.mark.parametrize("size", [1, WHOLE], ids=["to one that may expect parts", "large"])
def test_other_messages_are_taken_apart_and_put_together(in_a_run: None, size: int) -> None:
    message = message_of(bytes(size))
    heads, (tree,), parts = taken_apart([message], lambda message: size < WHOLE)
    assert is_whole(found("flwr.common.serde:message_from_proto")(heads[0])) == (size < WHOLE)
    assert heads[0].metadata.message_id == tree.object_id == message.object_id
    assert set(names_of(tree)) == set(parts)
    again = put_together(tree, dict(parts))
    assert again.content["values"]["block"] == bytes(size)
    assert again.metadata.message_id == tree.object_id


def test_an_error_is_whole(in_a_run: None) -> None:
    from flwr.app import Error, Message

    (head,), _, parts = taken_apart([Message(Error(code=0, reason="no"), reply_to=message_of())])
    assert is_whole(found("flwr.common.serde:message_from_proto")(head)) and not parts


def test_the_superlink_is_served_by_a_function_that_we_can_replace() -> None:
    module = importlib.import_module("flwr.superlink.cli.flower_superlink")
    text = inspect.getsource(module)
    assert "uvicorn.run(" in text, "the guard in front of the SuperLink is put there by replacing uvicorn.run"
    command = [sys.executable, "-c", "from flwr.superlink.cli.flower_superlink import *; flower_superlink()", "--help"]
    shown = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, **flower.QUIET}
    ).stdout
    for option in re.findall(r'"(--[a-z-]+)"', inspect.getsource(link._start)):
        assert option in shown, f"flower-superlink has no option {option}, with which link.py starts it"


def test_uvicorn_starts_and_ends_where_we_put_our_door() -> None:
    """`transports/flower/door.py` accepts connections itself, to limit the number of strangers and their memory."""
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    for name in ("startup", "shutdown"):
        assert list(inspect.signature(getattr(uvicorn.Server, name)).parameters) == ["self", "sockets"]
    assert "self.lifespan.state" in inspect.getsource(uvicorn.Server.startup)
    assert {"config", "server_state", "app_state"} <= set(inspect.signature(AutoHTTPProtocol).parameters)
    assert "self.client" in inspect.getsource(AutoHTTPProtocol.connection_made), "by it a connection is known"


# -- one door, one range -----------------------------------------------------------------------------------------------


def test_the_clocks_may_differ_by_minutes() -> None:
    module = importlib.import_module("flwr.superlink.routers.fleet.node_auth")
    text = inspect.getsource(module.authenticate_node)
    assert "SYSTEM_TIME_TOLERANCE" in text, "a site whose clock is 5 s ahead would be refused as a wrong key"
    constants = importlib.import_module("flwr.supercore.constant")
    assert constants.FLEET_HTTP_PUBLIC_KEY_HEADER == KEY_HEADER, "refused keys would not be told apart in the log"


def test_connections_of_a_site_are_kept_for_a_minute() -> None:
    with fleet.fleet_client("127.0.0.1:9", None, True, fleet.new_key()) as client:
        pool = client._client._transport._pool
        assert pool._keepalive_expiry == KEPT - 5, "httpx keeps connections elsewhere: slow networks get slower"


def test_a_client_can_be_told_which_name_a_certificate_is_issued_for() -> None:
    """The coordinator reaches itself by an address that the certificate of a hospital's own authority lacks."""
    from fedperi.transports.flower.address import Own

    own = Own("127.0.0.1:9", Path(ssl.get_default_verify_paths().openssl_cafile or "").read_bytes(), "c.example.org")
    for made in ("flwr.supercore.control:ControlHttpClient", "flwr.supercore.runtime:RuntimeHttpClient"):
        with control.client_of(found(made), own, "flwr CLI") as client:
            request = client._client.build_request("POST", "https://127.0.0.1:9/")
            for hook in client._client.event_hooks["request"]:
                hook(request)
            assert request.extensions["sni_hostname"] == "c.example.org"


def test_only_one_folder_uses_inner_interfaces() -> None:
    public = {"flwr", "flwr.app"}
    used = set()
    for path in PACKAGE.rglob("*.py"):
        names = {name for name in flower_imports(path) if name.split(":")[0] not in public}
        if path.is_relative_to(INNER):
            used |= names
        else:
            assert not names, f"{path} uses inner interfaces of Flower: move that to transports/flower/inner"
    assert used == set(USED), "the table of this file does not list what transports/flower/inner imports"


def test_the_range_of_versions_is_one() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"flwr{TESTED}" in project["optional-dependencies"]["flower"]
    assert f'dependencies = ["flwr{TESTED}"]' in FILES["pyproject.toml"]


def test_the_chore_that_tries_the_extra_alone_works() -> None:
    tree = ast.parse((Path(__file__).parents[2] / "noxfile.py").read_text(encoding="utf-8"))
    named = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    done = subprocess.run([sys.executable, "-c", ast.literal_eval(named["EXTRAS"])["flower"]], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_another_version_of_flower_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.42.0")
    with pytest.raises(InputError, match=r"Flower 1\.42\.0 is installed, .* tested with flwr>=1\.41,<1\.42"):
        need_flower()
    monkeypatch.undo()
    need_flower()
    assert flower.TESTED == TESTED
