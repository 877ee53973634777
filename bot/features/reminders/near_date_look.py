"""Asks a model which near dates deserve an offer of a reminder, and for the text of the reminder.

Code finds the dates, but only a model can judge if there is anything to do: a passport has to be renewed, a sick leave
just ends. Without a judgement nothing is offered.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date

from memory.facts.fact import to_one_line
from memory.facts.second_look import (
    Judgement,
    PromptFn,
    always_true,
    ask_for_verdicts,
    parse_first_fields,
    parse_verdicts,
)
from memory.text.speaking import names_user

MAX_TEXT_CHARS = 200
MAX_CLAIMS = 12
"""Maximum number of dates in one request, the nearest first."""
_TASK = """\
You check what a memory program is about to keep for its user: reminders that it wants to offer, because of dates in \
its memory that come near. Today is {today}. Decide for each numbered claim, which is a memory with its date:
"verdict": "follows" only where the user would thank you for a reminder: there is something to do, buy, prepare, \
renew, pay, return, cancel or attend by then, or somebody close to them to congratulate; and it is the user's own \
business and still ahead. "unclear" for everything else: a state that ends by itself (an illness, a leave, a trip, a \
visit, a course, a habit, a trial of a thing); something that is over or was only supposed; the routine or the plan of \
somebody else; the user's own birthday; a sad day; anything that needs no action; what another claim says, too.
"text": the reminder as one short sentence that speaks to the user as "you", in the language with the code \
{language}, with the date (without the year if it comes every year). It names people as the user does, and never says \
"the user". It says what the memory says and what is to be done, no more.
Return one JSON object: {{"1": {{"verdict": "follows", "text": "..."}}, "2": {{"verdict": "unclear"}}, ...}}
"""
_YEARLY, _ENDS = "every year, next on", "until"
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class DateClaim:
    """A memory with a near date.

    Attributes:
        text: The memory.
        day: The next date.
        is_yearly: Whether it recurs every year.
        own_words: The user's own words, if known.
    """

    text: str
    day: date
    is_yearly: bool
    own_words: str | None = None


class OfferLook:
    """Asks a model about dates.

    Args:
        ask: Asks the model.
        is_reliable: Returns whether the model passed the verification self-test.
        seconds: Timeout of a request.
    """

    def __init__(
        self, ask: PromptFn, is_reliable: Callable[[], Awaitable[bool]] = always_true, seconds: float = 60
    ) -> None:
        self._ask = ask
        self._is_reliable = is_reliable
        self._seconds = seconds

    async def look(self, claims: Sequence[DateClaim], today: date, language: str) -> dict[int, str | None]:
        """Return the reminder's text for each claim that was judged, or None for a declined one.

        Raises Postponed.
        """
        if not claims or not await self._is_reliable():
            return {}
        answer = await ask_for_verdicts(self._ask, build_offer_prompt(claims, today, language), self._seconds, "offers")
        if answer is None:
            return {}
        details = parse_first_fields(answer)
        return {
            at: _choose_text(claims[at], details.get(at + 1, {}).get("text"))
            if verdict.judgement is Judgement.FOLLOWS and verdict.is_now
            else None
            for at, verdict in parse_verdicts(answer, len(claims), 0).items()
        }


def build_offer_prompt(claims: Sequence[DateClaim], today: date, language: str) -> str:
    lines = [
        f"{at}. {to_one_line(claim.text)} ({_YEARLY if claim.is_yearly else _ENDS} {claim.day:%A %Y-%m-%d})"
        for at, claim in enumerate(claims, 1)
    ]
    return "\n\n".join(
        [_TASK.format(today=f"{today:%A %Y-%m-%d}", language=language), "## Claims\n" + "\n".join(lines)]
    )


def _choose_text(claim: DateClaim, text: object) -> str | None:
    """Return the model's text, or the user's own words if it is unusable. Return None if neither fits."""
    wording = " ".join(text.split()) if isinstance(text, str) else ""
    known = {*map(int, _NUMBER.findall(f"{claim.text} {claim.own_words or ''} {claim.day:%Y %m %d}"))}
    # A number that is not in the memory was made up.
    is_known = known.issuperset(map(int, _NUMBER.findall(wording)))
    if wording and len(wording) <= MAX_TEXT_CHARS and is_known and not names_user(wording):
        return wording
    return claim.own_words if claim.own_words and not names_user(claim.own_words) else None
