"""What a site would send, in words for its owner; nothing is drawn, paid or sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.policy import CHANNEL_WORDS, SitePolicy
from .words import promise_words

if TYPE_CHECKING:
    from ...protocol.requests import Card
    from .given import Account
    from .source import AnswerSource


def would_send(card: Card, policy: SitePolicy, source: AnswerSource, account: Account, later: bool) -> list[str]:
    """List what each message makes the site send, how much it has sent over all runs, and the price.

    With `later`, the owner approves the statement by a command.
    """
    columns = ", ".join(column.name for column in card.columns)
    promised = "that it answers without noise" if card.promise is None else promise_words(card.promise)
    if policy.channel == "regrets":
        stated = "nothing"
        noisy = "noisy " if card.promise else ""
        opened = f"its {noisy}number of rows, its declared targets, and the state of its privacy ledger"
        answered = "regrets, one number for each candidate set of parents; no row, no value of a column"
    else:
        stated = CHANNEL_WORDS[policy.channel]
        opened, answered = "nothing, this site answers no questions", "nothing"
    performed = f"what {', '.join(policy.methods)} sends, NOT PRIVATE" if policy.methods else "nothing"
    given = account.given
    return [
        f"Site {source.name!r} would tell the coordinator:",
        f"  on hello: its name; the columns {columns}, their kinds, and levels and bounds that a schema declares; "
        f"that it takes them as {card.data!r} with a penalty of {card.penalty:g}; {promised}",
        f"  on state: {stated}{', after its owner has approved it (`fedperi pending`)' if later else ''}",
        f"  on open: {opened}",
        f"  on ask: {answered}",
        f"  on begin and step: {performed}",
        f"Over all runs it has answered {len(given.openings)} of at most {policy.most_openings} openings, "
        f"{len(given.rounds) + given.steps} of {policy.most_messages} messages and {given.numbers} of "
        f"{policy.most_numbers} numbers; "
        + ("others may resample its rows." if policy.bootstrap else "it does not resample its rows for others."),
        f"Price: {source.price_ahead()}",
    ]
