"""Metrics in the text format of Prometheus: one line per value, with explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..._version import __version__

if TYPE_CHECKING:
    from ...coordinator.tally import RunStatus
    from ...site.status import SiteStatus

TYPE = "text/plain; version=0.0.4"
"""The content type of the format."""


@dataclass(frozen=True)
class Metric:
    """One quantity: its name, kind and meaning, and a value for each set of labels."""

    name: str
    kind: Literal["gauge", "counter"]
    about: str
    values: tuple[tuple[Mapping[str, str], float], ...]


def write_metrics(metrics: Iterable[Metric]) -> str:
    r"""Write metrics as text; those without values are left out.

    Examples
    --------
    >>> print(write_metrics([Metric("fedperi_sites", "gauge", "Sites.", (({"site": 'a"b\n'}, 1.5),))]), end="")
    # HELP fedperi_sites Sites.
    # TYPE fedperi_sites gauge
    fedperi_sites{site="a\"b\n"} 1.5
    """
    lines = []
    for metric in metrics:
        if metric.values:
            lines += [f"# HELP {metric.name} {metric.about}", f"# TYPE {metric.name} {metric.kind}"]
        for labels, value in metric.values:
            inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            lines.append(f"{metric.name}{f'{{{inside}}}' * bool(inside)} {value:.12g}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", " ")


def _one(value: float | None) -> tuple[tuple[Mapping[str, str], float], ...]:
    return () if value is None else (({}, float(value)),)


def site_metrics(status: SiteStatus) -> list[Metric]:
    """List a site's numbers."""
    budget = status.budget
    kinds = tuple(({"kind": kind}, float(count)) for kind, count in status.messages.items())
    about = ({"role": "site", "site": status.site, "version": __version__}, 1.0)
    return [
        Metric("fedperi_info", "gauge", "Which program this is; always 1.", (about,)),
        Metric("fedperi_start_time_seconds", "gauge", "When it was started, in Unix time.", _one(status.begun)),
        Metric("fedperi_connected", "gauge", "1 while the coordinator is reached.", _one(status.connected)),
        Metric(
            "fedperi_last_contact_timestamp_seconds",
            "gauge",
            "When the coordinator answered last, in Unix time; left out if it never did.",
            _one(status.contact),
        ),
        Metric("fedperi_messages_total", "counter", "Messages answered, refusals included.", kinds),
        Metric("fedperi_refusals_total", "counter", "Messages refused.", _one(status.refusals)),
        Metric("fedperi_sent_bytes_total", "counter", "Bytes of replies.", _one(status.sent)),
        Metric("fedperi_received_bytes_total", "counter", "Bytes of messages.", _one(status.received)),
        Metric("fedperi_pending", "gauge", "Statements that wait for the site's owner.", _one(status.waits)),
        Metric("fedperi_stated", "gauge", "1 once the statement was given.", _one(status.stated)),
        Metric(
            "fedperi_privacy_spent_epsilon",
            "gauge",
            "Epsilon spent on the table, by its ledger; left out without noise.",
            _one(None if budget is None else budget.spent),
        ),
        Metric(
            "fedperi_privacy_ceiling_epsilon",
            "gauge",
            "Largest epsilon that the site spends on it.",
            _one(None if budget is None else budget.ceiling),
        ),
        Metric("fedperi_store_readable", "gauge", "0 if ledger or approval cannot be read.", _one(not status.problem)),
    ]


def run_metrics(status: RunStatus) -> list[Metric]:
    """List a coordinator's numbers."""
    spent = tuple(({"site": one.site}, one.epsilon) for one in status.sites if one.epsilon is not None)
    seen = tuple(({"site": one.site}, one.seen) for one in status.sites if one.seen is not None)
    connected = tuple(({"site": one.site}, float(one.connected)) for one in status.sites)
    about = {"role": "coordinator", "run": status.run, "version": __version__}
    return [
        Metric("fedperi_info", "gauge", "Which program this is; always 1.", ((about, 1.0),)),
        Metric("fedperi_start_time_seconds", "gauge", "When it was started, in Unix time.", _one(status.begun)),
        Metric("fedperi_phase", "gauge", "1 for what the run is doing.", (({"phase": status.phase}, 1.0),)),
        Metric("fedperi_sites_wanted", "gauge", "Sites that are to take part.", _one(status.wanted)),
        Metric(
            "fedperi_sites_connected",
            "gauge",
            "Sites that are connected.",
            _one(sum(one.connected for one in status.sites)),
        ),
        Metric("fedperi_site_connected", "gauge", "1 for a site that is connected.", connected),
        Metric("fedperi_site_last_seen_timestamp_seconds", "gauge", "When a site was connected last.", seen),
        Metric(
            "fedperi_statements",
            "gauge",
            "Sites whose statement is here.",
            _one(sum(bool(one.stated) for one in status.sites)),
        ),
        Metric(
            "fedperi_pending", "gauge", "Sites that wait for their owner.", _one(sum(one.waits for one in status.sites))
        ),
        Metric(
            "fedperi_sites_dropped",
            "gauge",
            "Sites that refused, did not fit, or were lost.",
            _one(sum(bool(one.dropped) for one in status.sites)),
        ),
        Metric("fedperi_rounds_total", "counter", "Rounds of questions or statements.", _one(status.rounds)),
        Metric("fedperi_sent_bytes_total", "counter", "Bytes to sites.", _one(status.sent)),
        Metric("fedperi_received_bytes_total", "counter", "Bytes from sites.", _one(status.received)),
        Metric(
            "fedperi_refused_keys_total",
            "counter",
            "Keys and addresses that were not accepted, each counted once.",
            _one(status.refused_keys),
        ),
        Metric("fedperi_privacy_spent_epsilon", "gauge", "Epsilon that a site states.", spent),
        Metric(
            "fedperi_last_contact_timestamp_seconds",
            "gauge",
            "When the coordinator's own link answered last, in Unix time.",
            _one(status.contact),
        ),
    ]
