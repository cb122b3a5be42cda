"""Commands of the coordinator to its SuperLink: which sites may connect, and that a run begins."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Any

from ..address import Own

ACQUIRE_TASK = "/flwr.proto.Runtime/AcquireTask"
SERVER_TASK = "flwr-serverapp"


def register_node(own: Own, name: str, key: bytes) -> int:
    """Tell a SuperLink the public key of a site, which may then connect, and return the number of its node."""
    from flwr.proto.control_pb2 import RegisterNodeRequest
    from flwr.supercore.control import ControlHttpClient

    with client_of(ControlHttpClient, own, "flwr CLI") as client:
        return int(client.RegisterNode(RegisterNodeRequest(public_key=key, name=name)).node_id)


def unregister_node(own: Own, node: int) -> None:
    """Tell a SuperLink that a site may no longer connect."""
    from flwr.proto.control_pb2 import UnregisterNodeRequest
    from flwr.supercore.control import ControlHttpClient

    with client_of(ControlHttpClient, own, "flwr CLI") as client:
        client.UnregisterNode(UnregisterNodeRequest(node_id=node))


def start_run(own: Own, files: Mapping[str, str]) -> bool:
    """Begin a run with an app bundle made of these files; return whether the SuperLink accepted it."""
    from flwr.cli.build import build_fab_from_files
    from flwr.common.serde import fab_to_proto, user_config_to_proto
    from flwr.proto.control_pb2 import StartRunRequest
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.fab import Fab

    bundle = build_fab_from_files({name: text.encode() for name, text in files.items()})[0]
    fab = fab_to_proto(Fab(hashlib.sha256(bundle).hexdigest(), bundle, {}))
    with client_of(ControlHttpClient, own, "flwr CLI") as client:
        request = StartRunRequest(fab=fab, override_config=user_config_to_proto({}), federation="", app_spec="")
        return bool(client.StartRun(request).run_id)


def acquire_task(own: Own, secret: bytes, seconds: float) -> str | None:
    """Acquire the task of a run that has begun, and return its token; None if none came in time."""
    from flwr.proto.runtime_pb2 import AcquireTaskRequest
    from flwr.supercore.interceptors import SuperExecAuthHttpInterceptor
    from flwr.supercore.runtime import RuntimeHttpClient

    authentication = SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods=frozenset({ACQUIRE_TASK}))
    end = time.monotonic() + seconds
    with client_of(RuntimeHttpClient, own, "SuperExec", authentication) as client:
        while time.monotonic() < end:
            acquired = client.AcquireTask(AcquireTaskRequest(supported_task_types=[SERVER_TASK]))
            if acquired.HasField("task"):
                return str(acquired.token)
            time.sleep(0.1)
    return None


def error_text(response: str) -> str | None:
    """Return the code and the message of a SuperLink's error response; None if it is not one."""
    from flwr.supercore.error import FlowerError

    error = FlowerError.from_json(response)
    return None if error is None else f"{error.code}: {error.message}"


def client_of(kind: Any, own: Own, component: str, *interceptors: Any, **more: Any) -> Any:
    """Return a client of this class for the coordinator's own SuperLink."""
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

    client = kind.from_server_address(
        server_address=own.address,
        insecure=own.root is None,
        root_certificates=own.root,
        interceptors=[RuntimeVersionHttpInterceptor(component_name=component), *interceptors],
        **more,
    )

    def expect_name(request: Any) -> None:
        request.extensions = {**request.extensions, "sni_hostname": own.name}

    if own.root is not None:  # compare the certificate with the name that it is issued for, not with the address
        client._client.event_hooks = {"request": [expect_name]}
    return client
