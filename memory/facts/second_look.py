"""The second look: another call of a model reads each claim beside the words that it cites: does it follow?

Code can say that a quote stands where it is said to stand. Whether a sentence follows from it, whether a "why not"
affirms, what takes the place of what: that only a reader can judge, so a model is asked, once for all claims of a part.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import structlog

from config.texts import in_english
from memory.errors import ContentFiltered, Postponed
from memory.facts.fact import Excerpt, is_foreign, one_line, shortened, transcript
from memory.messages import Completion, Message, Provenance, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.facts.fact import KnownMemory

log = structlog.get_logger(__name__)

PromptFn = Callable[[str, float], Awaitable[Completion]]
"""Asks a model, which has so many seconds for it, and gives its answer. Raises whatever stops it."""

BEFORE = 10
"""Messages before the cited one that are shown, for who "she" is, what was asked and what is spoken of."""
WHOLE = 600
"""Characters of a message that are shown whole."""
LEAST_SECONDS = 2.0
"""With less time left nobody is asked, and the claims wait."""
PAUSE = 60.0
"""Seconds after a failure in which nobody is asked: a model that is down must not hold up one conversation after the
other."""

MOST_WRONG = 1
"""Wrong answers of the twelve with which a model still passes."""

_TASK = """\
You check what a memory program is about to keep about its user. Read the messages, and decide for each numbered claim:
"verdict": "follows" where the words quoted for it, read where they stand, plainly say the claim, in whatever words or \
language; or where they ask for just that to be kept or changed. "contradicts" where the messages say otherwise. \
"unclear" where they don't say it, or not all of it, or only as a joke, a wish, a quotation or a supposition. Words \
of the assistant count only where the user's next message agrees to them and changes nothing of what the claim says. \
"The user" is who wrote the messages; in a group, each writes for themselves. Hold against the messages who it is \
about, who does what to whom, every number, day and name, what is negated, and every detail that the claim adds.
"message": for a claim without quoted words the number of the message that says it.
"now": false where the claim is over by the end of the messages, else true.
"replaces": the numbers, as "K2", of known memories that no longer hold if the claim does, because they say something \
else of the same attribute of the same thing or person. "same": those that say what the claim says, and no less. \
Memories of other people, other things or other attributes are neither.
A claim that begins with "Forget:" follows where the quoted words ask to forget that, or say that it no longer holds.
Return one JSON object: {"1": {"verdict": "follows", "message": 3, "now": true, "replaces": [], "same": []}, "2": ...}
"""
_OBJECT = re.compile(r"\{[^{}]*\}")
_KEY_BEFORE = re.compile(r"(\d+)\W{1,6}$")
_BARE = re.compile(r'"?(\d+)"?\s*[:.)]\s*"?(follow|contradict|unclear)', re.IGNORECASE)
_NUMBER_IN = ("claim", "number", "id", "fact")
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


class Judgement(StrEnum):
    FOLLOWS = "follow"
    CONTRADICTS = "contradict"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is looked at. number: that of the message that it cites, from 1; None: any message may say it."""

    text: str
    subject: str = ""
    number: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look says. number: the message that says it. replaces, repeats: places in what is known, from 0."""

    judgement: Judgement
    number: int | None = None
    is_now: bool = True
    replaces: tuple[int, ...] = ()
    repeats: tuple[int, ...] = ()


async def answered(ask: PromptFn, prompt: str, deadline: float, failed: str) -> Completion | None:
    """Return the answer by `deadline`, on the loop's clock. None if the model failed, which is logged.

    Raises Postponed or ContentFiltered.
    """
    try:
        async with asyncio.timeout_at(deadline):
            return await ask(prompt, deadline - asyncio.get_running_loop().time())
    except (Postponed, ContentFiltered):
        raise
    except Exception as error:  # noqa: BLE001  # whatever stops the model: what asks goes on without it
        log.warning(failed, error=in_english(error) or type(error).__name__)
        return None


async def always() -> bool:
    return True


class SecondLook:
    """Has a model look at claims. Nobody is asked for a while after a failure.

    is_reliable: whether the model's look is worth anything; where it is not, claims wait.
    """

    def __init__(self, ask: PromptFn, is_reliable: Callable[[], Awaitable[bool]] = always) -> None:
        self._ask = ask
        self._is_reliable = is_reliable
        self._rests_until = 0.0

    async def look(
        self, claims: Sequence[Claim], excerpt: Excerpt, memories: Sequence[KnownMemory], deadline: float
    ) -> dict[int, Verdict]:
        """The verdicts by the claims' places, without those that got no answer by `deadline`. Raises Postponed."""
        now = asyncio.get_running_loop().time()
        if not claims or not await self._is_reliable() or deadline - now < LEAST_SECONDS or now < self._rests_until:
            return {}
        prompt = look_prompt(claims, excerpt, memories)
        try:
            completion = await answered(self._ask, prompt, deadline, "second_look_left_out")
        except ContentFiltered:  # nothing is confirmed, and the next claims are asked about as usual
            log.warning("second_look_filtered", claims=len(claims))
            return {}
        if completion is None:
            self._rests_until = asyncio.get_running_loop().time() + PAUSE
            return {}
        return parse_verdicts(completion.text, len(claims), len(memories))


async def passes_self_test(ask: PromptFn, seconds: float) -> bool:
    """Whether a model tells what follows from what does not. Raises whatever stops it."""
    at = datetime(2026, 1, 5, 12, tzinfo=UTC)
    messages = [Message(Role.USER, text, at, provenance=Provenance.TYPED) for text in _SAID]
    claims = [Claim(text, number=number, quote=_SAID[number - 1]) for number, text, _ in CLAIMS]
    answer = await ask(look_prompt(claims, Excerpt(messages, ZoneInfo("UTC")), ()), seconds)
    verdicts = parse_verdicts(answer.text, len(claims), 0)
    follows = [at in verdicts and verdicts[at].judgement is Judgement.FOLLOWS for at in range(len(claims))]
    return sum(result != is_true for result, (_, _, is_true) in zip(follows, CLAIMS, strict=True)) <= MOST_WRONG


def look_prompt(claims: Sequence[Claim], excerpt: Excerpt, memories: Sequence[KnownMemory]) -> str:
    visible: dict[int, Message] = {}
    listed = []
    for at, claim in enumerate(claims, 1):
        about = f"({one_line(claim.subject)}) " if claim.subject else ""
        words = "" if claim.number is None else f"\n   words in [{claim.number}]: {one_line(claim.quote or '')}"
        listed.append(f"{at}. {about}{one_line(claim.text)}{words}")
        for number, message in _around(claim, excerpt.messages).items():
            # what one claim needs whole is not shortened by another
            if number not in visible or len(visible[number].content) < len(message.content):
                visible[number] = message
    parts = [_TASK]
    if min(visible, default=1) <= BEFORE and excerpt.before:
        # no text of others: it could talk the judge into a verdict
        earlier = [replace(item, content=_shorter(item.content, "")) for item in excerpt.before if not is_foreign(item)]
        parts.append("## Said Before\n" + transcript(((None, item) for item in earlier), excerpt.zone))
    parts.append("## Messages\n" + transcript(sorted(visible.items()), excerpt.zone))
    if memories:
        parts.append(
            "## Known Memories\n"
            + "\n".join(
                f"K{at}. {f'({item.subject}) ' if item.subject else ''}{one_line(item.text)}"
                for at, item in enumerate(memories, 1)
            )
        )
    parts.append("## Claims\n" + "\n".join(listed))
    return "\n\n".join(parts)


def parse_verdicts(answer: str, claims: int, known_count: int) -> dict[int, Verdict]:
    """The verdicts in an answer by the claims' places, from 0. Of two on one claim the less favourable one counts."""
    verdicts: dict[int, Verdict] = {}
    for number, fields in _answers(answer):
        judgement = _judgement(str(fields.get("verdict", "")))
        if judgement is None or not 1 <= number <= claims:
            continue
        at, message = number - 1, fields.get("message")
        if at in verdicts and verdicts[at].judgement is not Judgement.FOLLOWS:
            continue
        verdicts[at] = Verdict(
            judgement,
            message if isinstance(message, int) and not isinstance(message, bool) else None,
            fields.get("now") is not False,
            _places(fields.get("replaces"), known_count),
            _places(fields.get("same"), known_count),
        )
    return verdicts


def _answers(answer: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The objects in an answer with the number that each is for, and what says no more than `1: follows`."""
    for match in _OBJECT.finditer(answer):
        with contextlib.suppress(ValueError):
            fields = json.loads(match.group())
            # the key that the object stands under, if it stands right before it
            key = _KEY_BEFORE.search(answer, max(0, match.start() - 20), match.start())
            named = next((str(fields[name]) for name in _NUMBER_IN if name in fields), "")
            number = key[1] if key is not None else named
            if number.isdecimal():
                yield int(number), fields
    for match in _BARE.finditer(answer):
        yield int(match[1]), {"verdict": match[2]}


def _judgement(text: str) -> Judgement | None:
    plain = text.casefold().strip()
    return next((judgement for judgement in Judgement if plain.startswith(judgement)), None)


def _places(places: object, count: int) -> tuple[int, ...]:
    listed = places if isinstance(places, list) else [places]
    numbers = (re.fullmatch(r"[Kk]?(\d{1,4})", str(place).strip()) for place in listed)
    return tuple(dict.fromkeys(int(n[1]) - 1 for n in numbers if n is not None and 1 <= int(n[1]) <= count))


def _around(claim: Claim, messages: Sequence[Message]) -> dict[int, Message]:
    """The cited message, the one before and the answer, by number, not foreign ones; all where none is cited."""
    number, quote = claim.number, claim.quote or ""
    near = range(1, len(messages) + 1)
    if number is not None:
        last = number + 1 if messages[number - 1].role is Role.ASSISTANT else number
        near = range(max(1, number - BEFORE), min(last, len(messages)) + 1)
    near_messages = ((at, messages[at - 1]) for at in near)
    return {
        at: message
        if number is None
        else replace(message, content=_shorter(message.content, quote if at == number else ""))
        for at, message in near_messages
        if not is_foreign(message) and message.role is not Role.TOOL
    }


def _shorter(text: str, quote: str) -> str:
    """A long text's part around the quote, or its beginning and end."""
    plain = one_line(text)
    if len(plain) <= WHOLE:
        return plain
    result = plain.casefold().find(one_line(quote).casefold()) if quote else -1
    if result < 0:
        return shortened(plain)
    return f"… {plain[max(0, result - WHOLE // 3) : result + len(quote) + WHOLE // 3]} …"
