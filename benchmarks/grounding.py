"""How many true facts are kept, and how many invented ones: by the checks of the code alone, and with a second look.

The conversations (tests/sets/grounding) were written for this in eleven languages, each with facts as a capable model
gives them and with inventions as a careless one does, all with the message and the words that they cite; "pairs" are
of one message or two, with what is easily got the wrong way round. By these and "tune" the checks were tuned and their
judge is fitted (benchmarks/fit_evidence.py); "holdout" is the newest, measured before anybody had looked at it. A fact
is confirmed, unconfirmed (kept, and in no prompt), or refused.

    python -m benchmarks.grounding [tune|pairs|holdout] [--mistakes]
    OPENAI_BASE_URL=... LLM_MODEL=... python -m benchmarks.grounding [tune|pairs|holdout] --second-look

With --second-look the model behind that address is asked as a consolidation asks it. Each request holds at most one
invention, among true facts of its conversation: as in an answer of a capable model, and none beside its opposite.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from openai import AsyncOpenAI

from memory.consolidation.second_look import look_again
from memory.evidence.fact import Citation, Fact
from memory.evidence.weighing import Hearing
from memory.messages import Completion, Message, Provenance, Role
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.evidence.weighing import Weighed

FOLDER = Path(__file__).parent.parent / "tests" / "sets" / "grounding"
SETS = ("tune", "pairs", "holdout")
STATES = ("confirmed", "unconfirmed", "refused")
TRUE, UNCITED, INVENTED = "true", "true, uncited", "invented"
"""What facts are counted under."""

SECONDS = 120.0
"""For one request; what counts is the verdict, not the time."""


@dataclass(frozen=True, slots=True)
class Case:
    """One fact or invention of a conversation. group: what it is counted under; writer: who wrote it, by number."""

    group: str
    kind: str
    language: str
    fact: Fact
    hearing: Hearing
    writer: int


def cases(half: str) -> Iterator[list[Case]]:
    """The cases of one half by conversation, each as it is cited, and each true fact without its evidence too."""
    for conversation in json.loads((FOLDER / f"{half}.json").read_text(encoding="utf-8")):
        hearing, language, writer = _hearing(conversation), conversation["language"], conversation["writer"]
        true, invented = conversation.get("facts") or (), conversation.get("inventions") or ()
        yield [
            Case(group, item["type"], language, _fact(item, cited=group != UNCITED), hearing, writer)
            for group, items in ((TRUE, true), (UNCITED, true), (INVENTED, invented))
            for item in items
        ]


def by_code(listed: Sequence[Case]) -> list[Weighed]:
    """The verdicts without a second look."""
    return [case.hearing.weigh(case.fact) for case in listed]


async def looked_at_again(client: AsyncOpenAI, model: str, listed: Sequence[Case]) -> list[Weighed]:
    """The verdicts with one: an invention a request, the true facts shared out among the requests."""
    weighed = by_code(listed)

    async def ask(prompt: str, seconds: float) -> Completion:
        answer = await client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": prompt}], timeout=seconds
        )
        return Completion(answer.choices[0].message.content or "")

    true = [at for at, case in enumerate(listed) if case.group == TRUE]
    invented = [at for at, case in enumerate(listed) if case.group == INVENTED]
    requests = max(1, len(invented))
    for nth in range(requests):
        together = sorted([*true[nth::requests], *invented[nth : nth + 1]], key=lambda at: listed[at].fact.text)
        deadline = asyncio.get_running_loop().time() + SECONDS
        again = await look_again([weighed[at] for at in together], listed[0].hearing, ask, deadline)
        for at, verdict in zip(together, again, strict=True):
            weighed[at] = verdict
    return weighed


async def weigh_all(half: str, *, again: bool) -> list[tuple[Case, Weighed]]:
    """Each case of one half with its verdict."""
    conversations = list(cases(half))
    if not again:
        return [pair for listed in conversations for pair in zip(listed, by_code(listed), strict=True)]
    async with AsyncOpenAI(max_retries=5) as client:
        asking = [looked_at_again(client, os.environ["LLM_MODEL"], listed) for listed in conversations]
        answers = await asyncio.gather(*asking)
    return [pair for both in zip(conversations, answers, strict=True) for pair in zip(*both, strict=True)]


def main() -> None:
    """Print what was kept by kind and by language; with --mistakes also each fact on which the verdict is wrong."""
    for half in [name for name in SETS if name in sys.argv[1:]] or SETS:
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for case, weighed in asyncio.run(weigh_all(half, again="--second-look" in sys.argv)):
            state = state_of(weighed)
            for row in (f"{case.language}", f"{case.kind}", "all"):
                counts[case.group, row][state] += 1
            if "--mistakes" in sys.argv and (case.group, state == "confirmed") in ((TRUE, False), (INVENTED, True)):
                quote = case.fact.citation and case.fact.citation.quote
                print(f"{case.group}, {state}: {case.fact.text} | {quote} | {weighed.doubt or ''}")
        print(f"\n{half:32}{'number':>8}" + "".join(f"{state:>13}" for state in STATES))
        for (group, row), states in sorted(counts.items(), key=lambda one: (one[0][0], one[0][1] == "all", one[0][1])):
            total = states.total()
            shares = "".join(f"{100 * states[state] / total:12.1f}%" for state in STATES)
            print(f"{group:14} {row:17}{total:8}{shares}")


def state_of(weighed: Weighed) -> str:
    """What becomes of a fact with this verdict."""
    if weighed.refusal is not None:
        return "refused"
    return "unconfirmed" if weighed.doubt is not None else "confirmed"


def _hearing(conversation: dict[str, Any]) -> Hearing:
    zone = ZoneInfo(conversation["zone"])
    at = datetime.fromisoformat(conversation["at"]).replace(tzinfo=zone)
    known = (*(conversation.get("memory") or ()), *(conversation.get("known") or {}).values())
    return Hearing([_message(one, at) for one in conversation["messages"]], tuple(known), zone)


def _message(item: dict[str, Any], at: datetime) -> Message:
    role = Role(item["role"])
    typed = Provenance.FORWARDED if item.get("forwarded") else Provenance.TYPED
    return Message(role, item["text"], at, item.get("speaker"), typed if role is Role.USER else None)


def _fact(item: dict[str, Any], *, cited: bool) -> Fact:
    return Fact(
        item.get("subject") or "",
        item["fact"],
        Kind(item.get("kind") or "fact"),
        _day(item.get("since")),
        _day(item.get("until")),
        Citation(item.get("message"), item["quote"]) if cited else None,
    )


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None


if __name__ == "__main__":
    main()
