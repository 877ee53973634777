"""How many true facts are kept, and how many invented ones, by the checks of the code alone.

The conversations (tests/sets/grounding) were written for this in eleven languages, each with facts as a capable model
gives them and with inventions as a careless one does, all with the message and the words that they cite. By one half
the checks were tuned, the other was looked at once. A fact is confirmed, unconfirmed (kept, and in no prompt), or
refused. `python -m benchmarks.grounding [tune|holdout] [--mistakes]`
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from memory.evidence.fact import Citation, Fact
from memory.evidence.weighing import Hearing
from memory.messages import Message, Provenance, Role
from memory.store.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent.parent / "tests" / "sets" / "grounding"
STATES = ("confirmed", "unconfirmed", "refused")


@dataclass(frozen=True, slots=True)
class Case:
    """One fact or invention, with the conversation that it is held against. group: what it is counted under."""

    group: str
    kind: str
    language: str
    fact: Fact
    hearing: Hearing

    def state(self) -> str:
        """What becomes of it."""
        weighed = self.hearing.weigh(self.fact)
        if weighed.refusal is not None:
            return "refused"
        return "unconfirmed" if weighed.doubt is not None else "confirmed"


def cases(half: str) -> Iterator[Case]:
    """The cases of one half, each as it is cited, and each true fact without its evidence too."""
    for conversation in json.loads((FOLDER / f"{half}.json").read_text(encoding="utf-8")):
        hearing = _hearing(conversation)
        for group, listed in (("true", "facts"), ("invented", "inventions")):
            for item in conversation.get(listed) or ():
                language = conversation["language"]
                yield Case(group, item["type"], language, _fact(item, cited=True), hearing)
                if group == "true":
                    yield Case("true, uncited", item["type"], language, _fact(item, cited=False), hearing)


def main() -> None:
    """Print what was kept by kind and by language; with --mistakes also each true fact that was not confirmed."""
    halves = [half for half in ("tune", "holdout") if half in sys.argv[1:]] or ["tune", "holdout"]
    for half in halves:
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for case in cases(half):
            state = case.state()
            for row in (f"{case.language}", f"{case.kind}", "all"):
                counts[case.group, row][state] += 1
            if "--mistakes" in sys.argv and (case.group, state == "confirmed") in (("true", False), ("invented", True)):
                print(f"{state}: {case.fact.text} | {case.fact.citation and case.fact.citation.quote}")
        print(f"\n{half:32}{'number':>8}" + "".join(f"{state:>13}" for state in STATES))
        for (group, row), states in sorted(counts.items(), key=lambda one: (one[0][0], one[0][1] == "all", one[0][1])):
            total = states.total()
            shares = "".join(f"{100 * states[state] / total:12.1f}%" for state in STATES)
            print(f"{group:14} {row:17}{total:8}{shares}")


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
