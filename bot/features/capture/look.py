"""Verification of captures: asks a model which captured sentences of a message are memories, in one request.

The classifier finds sentences that look like statements. Only a model can tell whether the user means them, or whether
they are a text to translate, a request, a mood or a joke. second_look.py verifies the facts of a consolidation.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.facts.fact import Excerpt, KnownMemory, format_excerpt, is_foreign, shorten, to_one_line
from memory.facts.second_look import (
    Judgement,
    PromptFn,
    Verdict,
    always_true,
    ask_for_verdicts,
    parse_first_fields,
    parse_verdicts,
)
from memory.messages import Message, Role
from memory.store.entry import Kind, Nature
from memory.text.classes import classify, classify_words, split_pieces
from memory.text.wording import split_comparable
from memory.text.words import STOP_WORDS

MAX_MESSAGE_CHARS = 1_500
"""Characters of the judged message that the model sees. A request about a pasted text is usually at its start."""
MAX_REPLACED = 5
"""Memories that one claim may replace. If a model names more, the answer is unreliable and none is replaced."""
MAX_NEW_WORDS = 2
"""Telling words in a claim's new wording that don't occur in the conversation."""
MAX_TEXT_CHARS = 300
_MIN_ALIKE = 4
_TASK = """\
You check what a memory program is about to keep about its user. It found the claims below in the user's newest \
message, [{number}], by their form alone. Read the messages and decide for each numbered claim:
"verdict": "follows" only where the user says it in earnest, about themselves or their own world (people, pets, \
things, home, health, work, plans, habits, tastes, decisions), and it will still matter in a month; or where it is a \
lasting instruction to the assistant. "unclear" for everything else: words in a text to translate, summarise, \
correct, quote, continue or explain, or in something imagined (a story, a role, an example, a lyric), even where no \
quotation marks tell; a request or a part of one (a reminder, a list, a recipe, a search); a mood or a state of today; \
a joke, an exaggeration, a guess, a wish, a question; general knowledge; what somebody else is said to claim. \
"contradicts" where the messages say otherwise, or take it back.
"text": the claim as one short sentence that can be understood alone in a year, in the user's language and words, as \
they would say it ("I", "my"). Say who "she" or "it" is. Write a relative day ("tomorrow", "next Thursday") as its \
date, worked out from the day of the message, as YYYY-MM-DD. Complete a mere value: "15 March" after "my exam is on 12 \
March" is "My exam is on 15 March". Add nothing else. Leave "text" out where the claim can be understood alone as it \
is. Where the messages don't tell who or when is meant, the verdict is "unclear".
"kind": "rule" for an instruction to the assistant, "preference" for likes and dislikes, "decision" for what was \
decided, else "fact".
"nature": "vital" for what must be known in every conversation (allergies, illnesses, blood type, emergency contacts, \
the closest people and their names, home, address, phone number), "event" for what happened once, else "state".
"replaces": the numbers, as "K2", of known memories that no longer hold if the claim does, because it says something \
else of the same attribute of the same thing or person, in whatever language. An instruction replaces earlier \
instructions about the same subject (language, length, tone, format, what to call somebody), and "use X again" \
replaces "never use X". "same": those that say what the claim says, and no less. Memories of other people, other \
things or other attributes are neither. The program doubts the memories marked "doubted": say of each if it is replaced.
Return one JSON object: {{"1": {{"verdict": "follows", "text": "...", "kind": "fact", "replaces": [], "same": []}}, \
"2": ...}}
"""
_IN_GROUP = """\
Several people speak. "own": true for a claim about the person who wrote the message, or about their people and \
belongings; false for one about a thing or a place that is nobody's in particular, or about somebody else.
"""
_KINDS = {"fact": Kind.FACT, "preference": Kind.PREFERENCE, "decision": Kind.DECISION, "rule": Kind.POLICY}
# Words that begin a sentence about someone or something named before.
_PRONOUNS = frozenset({"HE", "THEY", "THIS", "NEXTONE"})
_RELATIVE = frozenset(
    "today tonight tomorrow yesterday next last heute morgen gestern übermorgen vorgestern nächste nächsten nächster "
    "nächstes letzte letzten hoy mañana ayer próximo próxima aujourd hui demain hier prochain prochaine сегодня завтра "
    "вчера послезавтра позавчера следующий следующую следующей следующем сьогодні вчора позавчора післязавтра "
    "наступний наступного наступної 今 明 昨".split()
)
"""Words for a time relative to the day of the message."""
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


@dataclass(frozen=True, slots=True)
class CaptureVerdict:
    """A model's verdict on a claim.

    Attributes:
        text: The claim reworded so that it can be understood without context. None if it is unchanged.
        kind: None if the model names none.
        is_own: In a group, whether it is about the author of the message.
        replaces: Indices of known memories that are no longer true if the claim is.
        repeats: Indices of known memories with the same content.
    """

    is_confirmed: bool
    is_contradicted: bool = False
    text: str | None = None
    kind: Kind | None = None
    nature: Nature = Nature.STATE
    is_own: bool = False
    replaces: tuple[int, ...] = ()
    repeats: tuple[int, ...] = ()


class CaptureLook:
    """Asks a model to verify claims.

    Args:
        ask: Sends a prompt to the model.
        is_reliable: Whether the model passed the self-test.
    """

    def __init__(self, ask: PromptFn, is_reliable: Callable[[], Awaitable[bool]] = always_true) -> None:
        self._ask = ask
        self.is_reliable = is_reliable

    async def look(
        self,
        claims: Sequence[str],
        number: int,
        excerpt: Excerpt,
        memories: Sequence[KnownMemory],
        doubted: frozenset[int],
        seconds: float,
    ) -> dict[int, CaptureVerdict]:
        """Return the verdicts by index of the claim. Claims without a usable verdict are missing. Raises Postponed.

        Args:
            claims: The sentences, as typed.
            number: The number of the judged message in the excerpt, from 1.
            excerpt: The conversation around it.
            memories: Memories that the claims may replace or repeat.
            doubted: Indices of the memories that were put aside.
            seconds: Timeout of the request.
        """
        prompt = build_capture_prompt(claims, number, excerpt, memories, doubted)
        answer = await ask_for_verdicts(self._ask, prompt, seconds, "capture")
        if answer is None:
            return {}
        verdicts = parse_verdicts(answer, len(claims), len(memories))
        details = parse_first_fields(answer)
        said = _collect_words(excerpt, memories)
        return {
            at: _parse_verdict(verdict, details.get(at + 1, {}), claims[at], said) for at, verdict in verdicts.items()
        }


def build_capture_prompt(
    claims: Sequence[str], number: int, excerpt: Excerpt, memories: Sequence[KnownMemory], doubted: frozenset[int]
) -> str:
    visible = {
        at: _shorten_message(message, is_judged=at == number)
        for at, message in enumerate(excerpt.messages, 1)
        if not is_foreign(message) and message.role is not Role.TOOL
    }
    is_group = excerpt.messages[number - 1].speaker is not None
    parts = [
        _TASK.format(number=number) + (_IN_GROUP if is_group else ""),
        "## Messages\n" + format_excerpt(sorted(visible.items()), excerpt.zone),
    ]
    if memories:
        parts.append(
            "## Known Memories\n"
            + "\n".join(
                f"K{at}. {to_one_line(item.text)}{_format_state(item, is_doubted=at - 1 in doubted)}"
                for at, item in enumerate(memories, 1)
            )
        )
    parts.append("## Claims\n" + "\n".join(f"{at}. {to_one_line(claim)}" for at, claim in enumerate(claims, 1)))
    return "\n\n".join(parts)


def _format_state(memory: KnownMemory, *, is_doubted: bool) -> str:
    known = [f"since {memory.entry.valid_from:%Y-%m-%d}"] if memory.entry is not None else []
    known += ["doubted"] if is_doubted else []
    return f" [{', '.join(known)}]" if known else ""


def _shorten_message(message: Message, *, is_judged: bool) -> Message:
    text = to_one_line(message.content)
    if is_judged:
        return replace(message, content=text[:MAX_MESSAGE_CHARS] + (" …" if len(text) > MAX_MESSAGE_CHARS else ""))
    return replace(message, content=shorten(text))


def _parse_verdict(verdict: Verdict, fields: Mapping[str, object], claim: str, said: frozenset[str]) -> CaptureVerdict:
    text = fields.get("text")
    wording = " ".join(text.split()) if isinstance(text, str) else ""
    is_new = bool(wording) and split_comparable(wording) != split_comparable(claim)
    is_usable = is_new and has_only_known_words(wording, claim, said)
    replaces = verdict.replaces if len(verdict.replaces) <= MAX_REPLACED else ()
    return CaptureVerdict(
        # A rewording with other words may be another claim.
        verdict.judgement is Judgement.FOLLOWS and verdict.is_now and (is_usable or not is_new),
        verdict.judgement is Judgement.CONTRADICTS,
        wording if is_usable else None,
        _KINDS.get(str(fields.get("kind", ""))),
        next((nature for nature in Nature if nature == fields.get("nature")), Nature.STATE),
        fields.get("own") is True,
        replaces,
        verdict.repeats,
    )


def has_only_known_words(wording: str, claim: str, said: frozenset[str]) -> bool:
    """Return True if a rewording has only words of the conversation, except for a date and MAX_NEW_WORDS others."""
    if len(wording) > MAX_TEXT_CHARS:
        return False
    known = said | frozenset(split_comparable(claim))
    new = [word for word in _find_telling_words(_DATE.sub(" ", wording)) if not _is_known(word, known)]
    is_dated = any("MONTH" in names for names in classify(new))
    numbers = [word for word in new if word[0].isdigit()]
    words = len(new) - len(numbers) - is_dated
    # Up to two numbers: the day and the year of a date.
    return words <= MAX_NEW_WORDS and len(numbers) <= (2 if is_dated else 0)


def stands_alone(text: str) -> bool:
    """Return True if a sentence can be understood without context: it names its subject and has no relative date."""
    row = classify_words(split_pieces(text))
    is_about_somebody = bool(row) and row[0].isdisjoint(_PRONOUNS) and len(row) > 1
    return is_about_somebody and _RELATIVE.isdisjoint(split_comparable(text))


def _collect_words(excerpt: Excerpt, memories: Sequence[KnownMemory]) -> frozenset[str]:
    own = [message.content for message in excerpt.messages if not is_foreign(message)]
    own += [memory.text for memory in memories if memory.is_confirmed]
    return frozenset(split_comparable("\n".join(own)))


def _find_telling_words(text: str) -> list[str]:
    return [word for word in split_comparable(text) if word not in STOP_WORDS]


def _is_known(word: str, known: frozenset[str]) -> bool:
    """Return True if a word is known, in this or another inflected form."""
    if word in known:
        return True
    beginning = word[: max(_MIN_ALIKE, len(word) - 3)]
    return not word[0].isdigit() and len(word) >= _MIN_ALIKE and any(other.startswith(beginning) for other in known)
