"""The methods without privacy that a site can run, if its owner allows it."""

from __future__ import annotations

from importlib import import_module

from ..errors import InputError
from .worker import Worker

WORKERS = {
    "notears-admm": "fedperi.baselines.notears_admm.worker:NotearsWorker",
    "notears-admm-mlp": "fedperi.baselines.notears_admm.mlp:NotearsMLPWorker",
    "feddag": "fedperi.baselines.feddag.worker:FedDAGWorker",
    "fedcdh": "fedperi.baselines.fedcdh.worker:FedCDHWorker",
}
"""The site's half of each method, by the method's name in messages: a site runs nothing else."""


def worker_class(name: str) -> type[Worker]:
    """Find a worker by name.

    Examples
    --------
    >>> worker_class("os.system")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: a site runs no method 'os.system'; it knows notears-admm, ...
    """
    if name not in WORKERS:
        raise InputError(f"a site runs no method {name!r}; it knows {', '.join(WORKERS)}")
    module, attribute = WORKERS[name].split(":")
    found: type[Worker] = getattr(import_module(module), attribute)
    return found
