"""The second look: another model call that verifies whether each claim follows from the words that it cites.

Code can check that a quote is in the cited message. Only a model can judge whether a claim follows from it, whether a
"why not" agrees, and which memory it replaces. One request covers all claims of a part.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

import structlog

from config.texts import in_english
from memory.errors import ContentFiltered, Postponed
from memory.facts.fact import Excerpt, KnownMemory, format_excerpt, is_foreign, shorten, to_one_line
from memory.messages import Completion, Message, Provenance, Role

log = structlog.get_logger(__name__)

PromptFn = Callable[[str, float], Awaitable[Completion]]
"""Sends a prompt to a model with a timeout in seconds, and returns its answer."""

MAX_MESSAGES_BEFORE = 10
"""Messages before the cited one, as context for pronouns and questions."""
MAX_WHOLE_CHARS = 600
"""A longer message is shortened."""
MIN_SECONDS = 2.0
"""If less time is left, the model is not asked and the claims wait."""
PAUSE_SECONDS = 60.0
"""Pause after a failure, so that a model that is down doesn't delay one conversation after the other."""

MAX_WRONG = 1
"""Maximum number of wrong answers in the self-test of twelve claims."""

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
    """A statement to verify. `number` is that of the cited message, from 1. None means any message."""

    text: str
    subject: str = ""
    number: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A model's verdict on a claim.

    Attributes:
        number: The number of the message that says it, from 1.
        is_now: Whether the claim is still true.
        replaces: Indices of known memories that are no longer true if the claim is.
        repeats: Indices of known memories with the same content.
    """

    judgement: Judgement
    number: int | None = None
    is_now: bool = True
    replaces: tuple[int, ...] = ()
    repeats: tuple[int, ...] = ()


async def ask_until(ask: PromptFn, prompt: str, deadline: float, failed: str) -> Completion | None:
    """Return the answer by `deadline`, on the loop's clock. None if the model failed, which is logged.

    Raises Postponed or ContentFiltered.
    """
    try:
        async with asyncio.timeout_at(deadline):
            return await ask(prompt, deadline - asyncio.get_running_loop().time())
    except (Postponed, ContentFiltered):
        raise
    except Exception as error:  # noqa: BLE001  # The caller continues without an answer.
        log.warning(failed, error=in_english(error) or type(error).__name__)
        return None


async def ask_for_verdicts(ask: PromptFn, prompt: str, seconds: float, subject: str) -> str | None:
    """Return the text of the answer, or None if the model failed or its provider filtered the prompt. Both are logged.

    Args:
        subject: The beginning of the names of the log events, such as "offers".

    Raises Postponed.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        completion = await ask_until(ask, prompt, deadline, f"{subject}_not_judged")
    except ContentFiltered:
        log.warning(f"{subject}_filtered")
        return None
    return completion.text if completion is not None else None


async def always_true() -> bool:
    return True


class SecondLook:
    """Asks a model to verify claims, with a pause after a failure.

    Args:
        is_reliable: Whether the model passed the self-test. If not, claims wait.
    """

    def __init__(self, ask: PromptFn, is_reliable: Callable[[], Awaitable[bool]] = always_true) -> None:
        self._ask = ask
        self._is_reliable = is_reliable
        self._retry_at = 0.0

    async def look(
        self, claims: Sequence[Claim], excerpt: Excerpt, memories: Sequence[KnownMemory], deadline: float
    ) -> dict[int, Verdict]:
        """Return the verdicts by index of the claim, without claims that were not answered. Raises Postponed."""
        now = asyncio.get_running_loop().time()
        if not claims or not await self._is_reliable() or deadline - now < MIN_SECONDS or now < self._retry_at:
            return {}
        prompt = build_look_prompt(claims, excerpt, memories)
        try:
            completion = await ask_until(self._ask, prompt, deadline, "second_look_left_out")
        except ContentFiltered:  # It says nothing about the next claims, so there is no pause.
            log.warning("second_look_filtered", claims=len(claims))
            return {}
        if completion is None:
            self._retry_at = asyncio.get_running_loop().time() + PAUSE_SECONDS
            return {}
        return parse_verdicts(completion.text, len(claims), len(memories))


async def passes_self_test(ask: PromptFn, seconds: float) -> bool:
    """Return True if a model judges the test claims correctly. Errors of the model are raised."""
    at = datetime(2026, 1, 5, 12, tzinfo=UTC)
    messages = [Message(Role.USER, text, at, provenance=Provenance.TYPED) for text in _SAID]
    claims = [Claim(text, number=number, quote=_SAID[number - 1]) for number, text, _ in CLAIMS]
    answer = await ask(build_look_prompt(claims, Excerpt(messages, ZoneInfo("UTC")), ()), seconds)
    verdicts = parse_verdicts(answer.text, len(claims), 0)
    follows = [at in verdicts and verdicts[at].judgement is Judgement.FOLLOWS for at in range(len(claims))]
    return sum(result != is_true for result, (_, _, is_true) in zip(follows, CLAIMS, strict=True)) <= MAX_WRONG


def build_look_prompt(claims: Sequence[Claim], excerpt: Excerpt, memories: Sequence[KnownMemory]) -> str:
    visible: dict[int, Message] = {}
    listed = []
    for at, claim in enumerate(claims, 1):
        about = f"({to_one_line(claim.subject)}) " if claim.subject else ""
        words = "" if claim.number is None else f"\n   words in [{claim.number}]: {to_one_line(claim.quote or '')}"
        listed.append(f"{at}. {about}{to_one_line(claim.text)}{words}")
        for number, message in _select_context(claim, excerpt.messages).items():
            # If two claims show the same message, use the longer version.
            if number not in visible or len(visible[number].content) < len(message.content):
                visible[number] = message
    parts = [_TASK]
    if min(visible, default=1) <= MAX_MESSAGES_BEFORE and excerpt.before:
        # Leave out foreign text, since it may contain instructions to the judge.
        earlier = [replace(item, content=_shorten(item.content, "")) for item in excerpt.before if not is_foreign(item)]
        parts.append("## Said Before\n" + format_excerpt(((None, item) for item in earlier), excerpt.zone))
    parts.append("## Messages\n" + format_excerpt(sorted(visible.items()), excerpt.zone))
    if memories:
        parts.append(
            "## Known Memories\n"
            + "\n".join(
                f"K{at}. {f'({item.subject}) ' if item.subject else ''}{to_one_line(item.text)}"
                for at, item in enumerate(memories, 1)
            )
        )
    parts.append("## Claims\n" + "\n".join(listed))
    return "\n\n".join(parts)


def parse_verdicts(answer: str, claims: int, known_count: int) -> dict[int, Verdict]:
    """Parse the verdicts by index of the claim, from 0. Of two verdicts on a claim the less favourable one is used."""
    verdicts: dict[int, Verdict] = {}
    for number, fields in parse_claim_fields(answer):
        judgement = _parse_judgement(str(fields.get("verdict", "")))
        if judgement is None or not 1 <= number <= claims:
            continue
        at, message = number - 1, fields.get("message")
        if at in verdicts and verdicts[at].judgement is not Judgement.FOLLOWS:
            continue
        verdicts[at] = Verdict(
            judgement,
            message if isinstance(message, int) and not isinstance(message, bool) else None,
            fields.get("now") is not False,
            _parse_places(fields.get("replaces"), known_count),
            _parse_places(fields.get("same"), known_count),
        )
    return verdicts


def parse_claim_fields(answer: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield claim number and fields of each object in an answer, and of bare verdicts such as `1: follows`."""
    for match in _OBJECT.finditer(answer):
        with contextlib.suppress(ValueError):
            fields = json.loads(match.group())
            # Use the key directly before the object, if there is one.
            key = _KEY_BEFORE.search(answer, max(0, match.start() - 20), match.start())
            named = next((str(fields[name]) for name in _NUMBER_IN if name in fields), "")
            number = key[1] if key is not None else named
            if number.isdecimal():
                yield int(number), fields
    for match in _BARE.finditer(answer):
        yield int(match[1]), {"verdict": match[2]}


def parse_first_fields(answer: str) -> dict[int, Mapping[str, object]]:
    """Return the fields of each claim in an answer, by its number. The first object for a claim is used."""
    found: dict[int, Mapping[str, object]] = {}
    for number, fields in parse_claim_fields(answer):
        found.setdefault(number, fields)
    return found


def _parse_judgement(text: str) -> Judgement | None:
    plain = text.casefold().strip()
    return next((judgement for judgement in Judgement if plain.startswith(judgement)), None)


def _parse_places(places: object, count: int) -> tuple[int, ...]:
    listed = places if isinstance(places, list) else [places]
    numbers = (re.fullmatch(r"[Kk]?(\d{1,4})", str(place).strip()) for place in listed)
    return tuple(dict.fromkeys(int(n[1]) - 1 for n in numbers if n is not None and 1 <= int(n[1]) <= count))


def _select_context(claim: Claim, messages: Sequence[Message]) -> dict[int, Message]:
    """Return the cited message and its context by number, without foreign ones. All messages if none is cited."""
    number, quote = claim.number, claim.quote or ""
    near = range(1, len(messages) + 1)
    if number is not None:
        last = number + 1 if messages[number - 1].role is Role.ASSISTANT else number
        near = range(max(1, number - MAX_MESSAGES_BEFORE), min(last, len(messages)) + 1)
    near_messages = ((at, messages[at - 1]) for at in near)
    return {
        at: message
        if number is None
        else replace(message, content=_shorten(message.content, quote if at == number else ""))
        for at, message in near_messages
        if not is_foreign(message) and message.role is not Role.TOOL
    }


def _shorten(text: str, quote: str) -> str:
    """Return the part of a long text around the quote, or its start and end."""
    plain = to_one_line(text)
    if len(plain) <= MAX_WHOLE_CHARS:
        return plain
    result = plain.casefold().find(to_one_line(quote).casefold()) if quote else -1
    if result < 0:
        return shorten(plain)
    return f"… {plain[max(0, result - MAX_WHOLE_CHARS // 3) : result + len(quote) + MAX_WHOLE_CHARS // 3]} …"
