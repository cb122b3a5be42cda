"""What a site would send if it were asked, in words for its owner; nothing is drawn, paid or sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.policy import CHANNEL_WORDS, SitePolicy
from .words import promise_words

if TYPE_CHECKING:
    from ...protocol.requests import Card
    from .given import Account
    from .source import AnswerSource


def would_send(card: Card, policy: SitePolicy, held: AnswerSource, account: Account, later: bool) -> list[str]:
    """List what leaves the site on each message, how much was given before, and the price.

    Parameters
    ----------
    card, policy, held, account
        Those of the site (`fedperi.site.service.work.SiteWork`).
    later : bool
        Whether its owner decides later.
    """
    columns = ", ".join(column.name for column in card.columns)
    stated = CHANNEL_WORDS[policy.channel] if policy.channel != "regrets" else "nothing"
    answers = policy.channel == "regrets"
    return [
        f"Site {held.name!r} would tell the coordinator:",
        f"  on hello: its name; the columns {columns}, their kinds, and levels and bounds that a schema declares; "
        f"that it takes them as {card.data!r} with a penalty of {card.penalty:g}; "
        + ("that it answers without noise" if card.promise is None else promise_words(card.promise)),
        f"  on state: {stated}{', after its owner has approved it (`fedperi pending`)' if later else ''}",
        "  on open: its " + ("noisy " if card.promise else "") + "number of rows, its declared targets, and what its "
        "privacy ledger says"
        if answers
        else "  on open: nothing, this site answers no questions",
        "  on ask: regrets, one number for each candidate set of parents; no row, no value of a column"
        if answers
        else "  on ask: nothing",
        "  on begin and step: "
        + (f"what {', '.join(policy.methods)} sends, NOT PRIVATE" if policy.methods else "nothing"),
        _given_words(policy, account),
        f"Price: {held.price_ahead()}",
    ]


def _given_words(policy: SitePolicy, account: Account) -> str:
    given = account.given
    return (
        f"Over all runs it has answered {len(given.openings)} of at most {policy.most_openings} openings, "
        f"{len(given.rounds) + given.steps} of {policy.most_messages} messages and {given.numbers} of "
        f"{policy.most_numbers} numbers; "
        + ("others may resample its rows." if policy.bootstrap else "it does not resample its rows for others.")
    )
