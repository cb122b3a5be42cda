"""Metrics in the text format of Prometheus: one line per value, with explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._version import __version__

if TYPE_CHECKING:
    from ...coordinator.tally import RunStatus
    from ...site.status import SiteStatus

TYPE = "text/plain; version=0.0.4"
"""The content type of the format."""

Values = tuple[tuple[Mapping[str, str], float], ...]
"""Values of a metric, each with its labels."""


@dataclass(frozen=True)
class Metric:
    """One quantity: its name, its meaning, and its value (None if not known yet), or one for each set of labels."""

    name: str
    about: str
    value: Values | float | None


def write_metrics(metrics: Iterable[Metric]) -> str:
    r"""Write metrics as text; those without values are left out.

    Examples
    --------
    >>> print(write_metrics([Metric("fedperi_sites", "Sites.", (({"site": 'a"b\n'}, 1.5),))]), end="")
    # HELP fedperi_sites Sites.
    # TYPE fedperi_sites gauge
    fedperi_sites{site="a\"b\n"} 1.5
    """
    lines = []
    for metric in metrics:
        value = metric.value
        values: Values = value if isinstance(value, tuple) else () if value is None else (({}, float(value)),)
        kind = "counter" if metric.name.endswith("_total") else "gauge"  # the convention for names in this format
        if values:
            lines += [f"# HELP {metric.name} {metric.about}", f"# TYPE {metric.name} {kind}"]
        for labels, number in values:
            inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            lines.append(f"{metric.name}{f'{{{inside}}}' * bool(inside)} {number:.12g}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", " ")


def site_metrics(status: SiteStatus) -> list[Metric]:
    """List a site's numbers."""
    budget = status.budget
    kinds = tuple(({"kind": kind}, float(count)) for kind, count in status.messages.items())
    about = ({"role": "site", "site": status.site, "version": __version__}, 1.0)
    return [
        Metric("fedperi_info", "Which program this is; always 1.", (about,)),
        Metric("fedperi_start_time_seconds", "When it was started, in Unix time.", status.begun),
        Metric("fedperi_connected", "1 while the coordinator is reached.", status.connected),
        Metric(
            "fedperi_last_contact_timestamp_seconds",
            "When the coordinator answered last, in Unix time; left out if it never did.",
            status.contact,
        ),
        Metric("fedperi_messages_total", "Messages answered, refusals included.", kinds),
        Metric("fedperi_refusals_total", "Messages refused.", status.refusals),
        Metric("fedperi_sent_bytes_total", "Bytes of replies.", status.sent),
        Metric("fedperi_received_bytes_total", "Bytes of messages.", status.received),
        Metric("fedperi_pending", "Statements that wait for the site's owner.", status.waits),
        Metric("fedperi_stated", "1 once the statement was given.", status.stated),
        Metric(
            "fedperi_privacy_spent_epsilon",
            "Epsilon spent on the table, by its ledger; left out without noise.",
            None if budget is None else budget.spent,
        ),
        Metric(
            "fedperi_privacy_ceiling_epsilon",
            "Largest epsilon that the site spends on it.",
            None if budget is None else budget.ceiling,
        ),
        Metric("fedperi_store_readable", "0 if ledger or approval cannot be read.", not status.problem),
    ]


def run_metrics(status: RunStatus) -> list[Metric]:
    """List a coordinator's numbers."""
    spent = tuple(({"site": one.site}, one.epsilon) for one in status.sites if one.epsilon is not None)
    seen = tuple(({"site": one.site}, one.seen) for one in status.sites if one.seen is not None)
    connected = tuple(({"site": one.site}, float(one.connected)) for one in status.sites)
    about = {"role": "coordinator", "run": status.run, "version": __version__}
    return [
        Metric("fedperi_info", "Which program this is; always 1.", ((about, 1.0),)),
        Metric("fedperi_start_time_seconds", "When it was started, in Unix time.", status.begun),
        Metric("fedperi_phase", "1 for what the run is doing.", (({"phase": status.phase}, 1.0),)),
        Metric("fedperi_sites_wanted", "Sites that are to take part.", status.wanted),
        Metric("fedperi_sites_connected", "Sites that are connected.", sum(one.connected for one in status.sites)),
        Metric("fedperi_site_connected", "1 for a site that is connected.", connected),
        Metric("fedperi_site_last_seen_timestamp_seconds", "When a site was connected last.", seen),
        Metric("fedperi_statements", "Sites whose statement is here.", sum(bool(one.stated) for one in status.sites)),
        Metric("fedperi_pending", "Sites that wait for their owner.", sum(one.waits for one in status.sites)),
        Metric(
            "fedperi_sites_dropped",
            "Sites that refused, did not fit, or were lost.",
            sum(bool(one.dropped) for one in status.sites),
        ),
        Metric("fedperi_rounds_total", "Rounds of questions or statements.", status.rounds),
        Metric("fedperi_sent_bytes_total", "Bytes to sites.", status.sent),
        Metric("fedperi_received_bytes_total", "Bytes from sites.", status.received),
        Metric(
            "fedperi_refused_keys_total",
            "Keys and addresses that were not accepted, each counted once.",
            status.refused_keys,
        ),
        Metric("fedperi_privacy_spent_epsilon", "Epsilon that a site states.", spent),
        Metric(
            "fedperi_last_contact_timestamp_seconds",
            "When the coordinator's own link answered last, in Unix time.",
            status.contact,
        ),
    ]
