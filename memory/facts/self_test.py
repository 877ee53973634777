"""Whether a model's second look is worth anything: twelve claims whose answers are known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from memory.facts.fact import Excerpt
from memory.facts.second_look import Claim, Judgement, look_prompt, parse_verdicts
from memory.messages import Message, Provenance, Role

if TYPE_CHECKING:
    from memory.facts.second_look import PromptFn

MOST_WRONG = 1
"""Wrong answers of the twelve with which a model still passes."""

_SAID = (
    "I moved from Leipzig to Dresden last week",
    "my sister Marina is a pilot, not me",
    "pizza is not really my thing",
    "the rent is 950 euros now",
    "I lent Marco my drill on Monday",
    "I used to smoke, quit two years ago",
)
CLAIMS = (
    (1, "The user lives in Dresden.", True),
    (1, "The user lives in Leipzig.", False),
    (2, "The user has a sister called Marina.", True),
    (2, "The user is a pilot.", False),
    (3, "The user does not care much for pizza.", True),
    (3, "The user loves pizza.", False),
    (4, "The user pays 950 euros of rent.", True),
    (4, "The user pays 590 euros of rent.", False),
    (5, "Marco has borrowed the user's drill.", True),
    (5, "Marco lent the user a drill.", False),
    (6, "The user no longer smokes.", True),
    (6, "The user smokes and wants to quit.", False),
)


async def passes_self_test(ask: PromptFn, seconds: float) -> bool:
    """Whether a model tells what follows from what does not. Raises whatever stops it."""
    at = datetime(2026, 1, 5, 12, tzinfo=UTC)
    messages = [Message(Role.USER, text, at, provenance=Provenance.TYPED) for text in _SAID]
    claims = [Claim(text, number=number, quote=_SAID[number - 1]) for number, text, _ in CLAIMS]
    answer = await ask(look_prompt(claims, Excerpt(messages, ZoneInfo("UTC")), ()), seconds)
    verdicts = parse_verdicts(answer.text, len(claims), 0)
    follows = [at in verdicts and verdicts[at].judgement is Judgement.FOLLOWS for at in range(len(claims))]
    return sum(result != is_true for result, (_, _, is_true) in zip(follows, CLAIMS, strict=True)) <= MOST_WRONG
