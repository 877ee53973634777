"""Shares of true and invented facts that are confirmed, depending on the verification.

The conversations (tests/sets/grounding) were written for this in seven languages. Each has facts as a capable model
extracts them and inventions as a careless one does, all citing a message and its words. Each true fact is also checked
without its citation. A fact is confirmed, unconfirmed (stored, but not used in prompts), or refused.

    python -m benchmarks.grounding [--look right|none|agrees] [--mistakes]
    OPENAI_BASE_URL=... LLM_MODEL=... python -m benchmarks.grounding --look model

The verification is always right (the default), unavailable, always agreeing, or done by a model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from memory.facts.checker import FactChecker
from memory.facts.fact import CheckedFact, Citation, Excerpt, Fact
from memory.facts.second_look import PromptFn, SecondLook
from memory.messages import Completion, Message, Provenance, Role
from memory.store.entry import Kind

CONVERSATIONS = Path(__file__).parent.parent / "tests" / "sets" / "grounding" / "holdout.json"
STATES = ("confirmed", "unconfirmed", "refused")
TRUE, UNCITED, INVENTED = "true", "true, uncited", "invented"
"""Groups of facts."""
TIMEOUT_SECONDS = 120.0
"""Timeout for one request. It is long, since only the verdict matters."""
_CLAIM = re.compile(r"^(\d+)\. (?:\(.*?\) )?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A fact or invention in a conversation.

    Args:
        number: the message that states it.
    """

    group: str
    kind: str
    language: str
    fact: Fact
    number: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, and the facts to check against it."""

    excerpt: Excerpt
    cases: tuple[Case, ...]


def read_conversations() -> Iterator[Conversation]:
    """Yield the conversations of the set."""
    for read in json.loads(CONVERSATIONS.read_text(encoding="utf-8")):
        true, invented = read.get("facts") or (), read.get("inventions") or ()
        cases = (
            Case(group, item["type"], read["language"], _build_fact(item, cited=group != UNCITED), item["message"])
            for group, items in ((TRUE, true), (UNCITED, true), (INVENTED, invented))
            for item in items
        )
        yield Conversation(_build_excerpt(read), tuple(cases))


def create_right_look(cases: Mapping[str, Case]) -> PromptFn:
    """Return a verification that is always right. `cases` are keyed by the text of the fact."""

    async def look(prompt: str, _seconds: float) -> Completion:
        return _format_verdicts(prompt, lambda text: _is_true(cases, text), lambda text: _find_case(cases, text).number)

    return look


def create_agreeing_look(cases: Mapping[str, Case]) -> PromptFn:
    """Return a verification that always agrees."""

    async def look(prompt: str, _seconds: float) -> Completion:
        return _format_verdicts(prompt, lambda _: True, lambda text: _find_case(cases, text).number)

    return look


async def give_no_verdict(_prompt: str, _seconds: float) -> Completion:
    """Return no verdict, like an unreachable model."""
    return Completion("")


def create_model_look() -> PromptFn:
    """Return a verification by the model at OPENAI_BASE_URL."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(max_retries=5)

    async def look(prompt: str, seconds: float) -> Completion:
        answer = await client.chat.completions.create(
            model=os.environ["LLM_MODEL"], messages=[{"role": "user", "content": prompt}], timeout=seconds
        )
        return Completion(answer.choices[0].message.content or "")

    return look


async def check_conversation(conversation: Conversation, kind: str) -> list[tuple[Case, CheckedFact]]:
    """Return each case with its verdict. True facts and inventions are checked in separate requests."""
    pairs = []
    for group in (TRUE, UNCITED, INVENTED):
        cases = [case for case in conversation.cases if case.group == group]
        by_text = {" ".join(case.fact.text.split()): case for case in cases}
        look = {"right": create_right_look, "agrees": create_agreeing_look}.get(kind)
        ask = look(by_text) if look is not None else give_no_verdict if kind == "none" else create_model_look()
        deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
        facts = [case.fact for case in cases]
        verdicts, _ = await FactChecker(SecondLook(ask)).check(facts, conversation.excerpt, (), deadline)
        pairs += list(zip(cases, verdicts, strict=True))
    return pairs


async def check_all(kind: str) -> list[tuple[Case, CheckedFact]]:
    """Return each case of the set with its verdict."""
    return [pair for one in read_conversations() for pair in await check_conversation(one, kind)]


def get_state(verdict: CheckedFact) -> str:
    """Return the state of a fact after its verdict."""
    if verdict.is_foreign:
        return "refused"
    return "unconfirmed" if verdict.doubt is not None else "confirmed"


def main() -> None:
    """Print the states by kind and by language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--look", choices=("right", "none", "agrees", "model"), default="right")
    parser.add_argument("--mistakes", action="store_true", help="print each fact with the wrong verdict")
    options = parser.parse_args()
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for case, verdict in asyncio.run(check_all(options.look)):
        state = get_state(verdict)
        for row in (case.language, case.kind, "all"):
            counts[case.group, row][state] += 1
        if options.mistakes and (state == "confirmed") == (case.group == INVENTED):
            print(f"{case.group}, {state}: {case.fact.text} | {verdict.quote} | {verdict.doubt or ''}")
    print(f"{'':32}{'number':>8}" + "".join(f"{state:>13}" for state in STATES))
    for (group, row), states in sorted(counts.items(), key=lambda one: (one[0][0], one[0][1] == "all", one[0][1])):
        shares = "".join(f"{100 * states[state] / states.total():12.1f}%" for state in STATES)
        print(f"{group:14} {row:17}{states.total():8}{shares}")


def _format_verdicts(prompt: str, follows: Callable[[str], bool], number: Callable[[str], int]) -> Completion:
    claims = _CLAIM.findall(prompt.rpartition("## Claims")[2])
    return Completion(
        json.dumps(
            {n: {"verdict": "follows" if follows(text) else "unclear", "message": number(text)} for n, text in claims}
        )
    )


def _find_case(cases: Mapping[str, Case], text: str) -> Case:
    return next(case for known, case in cases.items() if text.startswith(known))


def _is_true(cases: Mapping[str, Case], text: str) -> bool:
    return _find_case(cases, text).group != INVENTED


def _build_excerpt(read: Mapping[str, Any]) -> Excerpt:
    zone = ZoneInfo(read["zone"])
    at = datetime.fromisoformat(read["at"]).replace(tzinfo=zone)
    return Excerpt([_build_message(one, at) for one in read["messages"]], zone)


def _build_message(item: Mapping[str, Any], at: datetime) -> Message:
    role = Role(item["role"])
    provenance = Provenance.FORWARDED if item.get("forwarded") else Provenance.TYPED
    return Message(role, item["text"], at, item.get("speaker"), provenance if role is Role.USER else None)


def _build_fact(item: Mapping[str, Any], *, cited: bool) -> Fact:
    return Fact(
        item.get("subject") or "",
        item["fact"],
        Kind(item.get("kind") or "fact"),
        _parse_day(item.get("since")),
        _parse_day(item.get("until")),
        Citation(item["message"], item["quote"]) if cited else None,
    )


def _parse_day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None


if __name__ == "__main__":
    main()
