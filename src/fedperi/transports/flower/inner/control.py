"""Commands of the coordinator to its SuperLink: which sites may connect, and that a run begins."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ....errors import InputError
from ..address import Own
from ..bundle import FILES
from ..live.repeat import repeated
from .grid import RunGrid

ACQUIRE_TASK = "/flwr.proto.Runtime/AcquireTask"
SERVER_TASK = "flwr-serverapp"

TASK_WAIT = 60.0
"""Seconds within which a run that has begun must offer its task."""

TASK_HEARTBEAT = 5.0
"""Seconds between two heartbeats of a run."""


class Control:
    """Commands of the coordinator to its SuperLink, which gives the task of a run only for the secret."""

    def __init__(self, own: Own, secret: bytes) -> None:
        self._own, self._secret = own, secret
        self._nodes: dict[str, int] = {}

    def register(self, name: str, key: bytes) -> None:
        """Let the site with this key connect."""
        from flwr.proto.control_pb2 import RegisterNodeRequest

        with self._client_for_key(name) as client:
            self._nodes[name] = int(client.RegisterNode(RegisterNodeRequest(public_key=key, name=name)).node_id)

    def withdraw(self, name: str) -> None:
        """Shut a site out: requests that its key signs are no longer answered."""
        from flwr.proto.control_pb2 import UnregisterNodeRequest

        if name in self._nodes:
            with self._client_for_key(name) as client:
                client.UnregisterNode(UnregisterNodeRequest(node_id=self._nodes[name]))
            del self._nodes[name]

    @contextmanager
    def grid(self) -> Iterator[RunGrid]:
        """Begin a run, acquire its task, and yield its grid."""
        if not self._start_run():
            raise InputError("the SuperLink did not begin a run")
        token = self._acquire_task()
        if token is None:
            raise InputError(f"the SuperLink gave no task within {TASK_WAIT:g} s")
        with _open_grid(self._own, token) as grid:
            yield grid

    @contextmanager
    def _client_for_key(self, name: str) -> Iterator[Any]:
        """Yield a client, and explain its errors: why the key of a site was not accepted."""
        import httpx
        from flwr.supercore.control import ControlHttpClient

        try:
            with client_of(ControlHttpClient, self._own, "flwr CLI") as client:
                yield client
        except httpx.HTTPError as error:
            response = getattr(error, "response", None)
            reason = str(error) if response is None else error_text(response.text) or str(error)
            more = "; one that was withdrawn is accepted again after a restart" if "IN_USE" in reason.upper() else ""
            raise InputError(f"the key of site {name!r} was not accepted by the SuperLink ({reason}){more}") from None

    def _start_run(self) -> bool:
        from flwr.cli.build import build_fab_from_files
        from flwr.common.serde import fab_to_proto, user_config_to_proto
        from flwr.proto.control_pb2 import StartRunRequest
        from flwr.supercore.control import ControlHttpClient
        from flwr.supercore.fab import Fab

        bundle = build_fab_from_files({name: text.encode() for name, text in FILES.items()})[0]
        fab = fab_to_proto(Fab(hashlib.sha256(bundle).hexdigest(), bundle, {}))
        with client_of(ControlHttpClient, self._own, "flwr CLI") as client:
            request = StartRunRequest(fab=fab, override_config=user_config_to_proto({}), federation="", app_spec="")
            return bool(client.StartRun(request).run_id)

    def _acquire_task(self) -> str | None:
        """Acquire the task of a run that has begun, and return its token; None if none came in time."""
        from flwr.proto.runtime_pb2 import AcquireTaskRequest
        from flwr.supercore.interceptors import SuperExecAuthHttpInterceptor
        from flwr.supercore.runtime import RuntimeHttpClient

        protected = frozenset({ACQUIRE_TASK})
        authentication = SuperExecAuthHttpInterceptor(master_secret=self._secret, protected_methods=protected)
        end = time.monotonic() + TASK_WAIT
        with client_of(RuntimeHttpClient, self._own, "SuperExec", authentication) as client:
            while time.monotonic() < end:
                acquired = client.AcquireTask(AcquireTaskRequest(supported_task_types=[SERVER_TASK]))
                if acquired.HasField("task"):
                    return str(acquired.token)
                time.sleep(0.1)
        return None


@contextmanager
def _open_grid(own: Own, token: str) -> Iterator[RunGrid]:
    """Yield the grid of a task, keep the task alive, and report its end."""
    import httpx
    from flwr.common.constant import SubStatus
    from flwr.proto.runtime_pb2 import PullTaskInputRequest, PushTaskOutputRequest, SendTaskHeartbeatRequest
    from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor
    from flwr.supercore.retry import RetryInvoker, exponential
    from flwr.supercore.runtime import RuntimeHttpClient
    from flwr.supercore.task_identity import TaskIdentity

    # Flower's own retries never end, and send a signal to this process when its authorization is lost.
    retries = RetryInvoker(lambda: exponential(max_delay=2), httpx.TransportError, max_tries=None, max_time=10)
    by_token = RuntimeTokenHttpInterceptor(token=token)
    client = client_of(RuntimeHttpClient, own, "flwr-serverapp", by_token, retry_invoker=retries)
    beats = client_of(RuntimeHttpClient, own, "flwr-serverapp", by_token)
    task = client.PullTaskInput(PullTaskInputRequest())
    TaskIdentity.task_id, TaskIdentity.run_id = task.task_id, task.run.run_id
    TaskIdentity.node_id = task.context.node_id
    grid = RunGrid(client, task.run.run_id)
    status, details = SubStatus.FAILED, "stopped"
    with repeated(TASK_HEARTBEAT, lambda: beats.SendTaskHeartbeat(SendTaskHeartbeatRequest()), beats):
        try:
            yield grid
            status, details = SubStatus.COMPLETED, ""
        finally:
            retries.max_tries = 1
            with suppress(httpx.HTTPError):
                client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=details))
            with suppress(httpx.HTTPError):
                client.close()


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
