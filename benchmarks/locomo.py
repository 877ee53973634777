"""Evidence for questions in the requests that ask them, on conversations in LoCoMo's format.

The argument is a JSON file (the data is not part of the project). The product's log stores the conversations, as a
private chat and as a group, and each question is asked in a new conversation. The first table shows for how many
questions any or all of the evidence is in `# Relevant Memory`, the share of the answer's words (an excerpt may contain
a message without its answer), and the cost. The second shows how high the search ranks the evidence, with 95%
intervals. No model is involved, except with these options:

--embedder compares meanings by the local embedding model. --talk also asks the questions with "I" and "you" in messages
with 10, 16, 24 and 40 words of talk, or the given numbers, before, after and around them (benchmarks/talk.py): with
their question mark, without it, and without punctuation and capitals. --tool also searches with memory_recall, using
up to five wordings of each question, and counts the results with the request. --among N also asks them after importing
a history of N messages, made of the words of the other dialogues (benchmarks/history.py). --peers also asks plain BM25
and cosine similarity (benchmarks/locomo_peers.py) and prints a table of all rankings, with Mneme's in the group form.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.progress import track

from benchmarks.embedding import create_local_embedder, embed_missing
from benchmarks.history import write_history
from benchmarks.locomo_data import Dialogue, Form, Question, read_dialogues, store_dialogue
from benchmarks.locomo_figures import (
    DEPTHS,
    QuestionResult,
    build_headline_table,
    build_methods_table,
    build_ranking_table,
    build_report,
    summarize,
)
from benchmarks.paraphrases import read_other_messages
from benchmarks.talk import PARTS, Style, TalkPosition, generate_wordings, put_inside_talk
from config.logs import configure_logging
from config.models import ModelWindow
from memory.clock import system_clock
from memory.log.sessions import Session, Transcript
from memory.messages import Message, Role
from memory.search.activation import Activation
from memory.search.memory_reader import MemoryReader, ReadRequest
from memory.search.ranking import Ranker
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.types import MESSAGE_KIND, Filter
from memory.store.database import Database
from memory.store.decay import Decay
from memory.text.query_terms import QueryTerms
from memory.text.tokens import TokenCounter
from pipeline.prompt.budget import Budget
from pipeline.prompt.memory_part import MemoryPart
from pipeline.prompt.prompts import NOW_HEADER, RELEVANT_HEADER, STYLES
from pipeline.systems.context_building import PromptBuilder
from tests.support.talk import create_ledger

if TYPE_CHECKING:
    from bot.features.vectors.store import Embedder

Within = Callable[[str], str]
"""Converts a question to a message."""
RECOGNIZED_CHARS = 150
"""Number of characters in a row that identify a truncated message in a request: half of a shown message."""
TOOL_TOKENS = (800, 2_000)
"""Token limits of memory_recall: the default and the maximum."""
UNRELATED = Path(__file__).parent.parent / "tests" / "sets" / "unrelated_messages.json"


def in_utc(_whose: str) -> ZoneInfo:
    """Return UTC for all users."""
    return ZoneInfo("UTC")


class Asker:
    """Asks questions of a store in the same way as a turn."""

    def __init__(self, database: Database, ranker: Ranker | None = None) -> None:
        search = Search(database)
        self._counter = TokenCounter()
        self._recall = Recall(search, database, self._counter, in_utc, ranker)
        self._reader = MemoryReader(self._recall, search, database, self._counter)
        activation = Activation(database, Decay(), system_clock, in_utc)
        parts = [MemoryPart(None, self._recall, activation, 800)]
        self._builder = PromptBuilder(STYLES["full"], parts, self._budget, system_clock, in_utc)

    async def _budget(self, _owner: str, _model: object = None) -> Budget:
        return Budget("", ModelWindow(128_000, 8_000), self._counter)

    async def find_relevant(self, session: Session, message: str) -> str:
        """Return the text under `# Relevant Memory` for the first message of a conversation."""
        draft = self._builder.draft(session, Transcript(None, None, []), await self._budget(session.owner))
        draft.question, draft.new_messages = message, [Message(Role.USER, message, draft.now)]
        prompt = await self._builder.build(draft)
        return prompt.added.text.partition(RELEVANT_HEADER)[2].rpartition(NOW_HEADER)[0].strip()

    async def look_up(self, session: Session, question: str, tokens: int, prompt: str = "") -> str:
        """Return the results of memory_recall for several wordings of a question, with a prompt in view."""
        page = await self._reader.search(
            generate_wordings(question), session.owner, ReadRequest(Filter(), 1, tokens, prompt)
        )
        return page.passage.text if page is not None else ""

    async def ask(
        self, session: Session, question: Question, texts: dict[str, str], message: str = "", tool_tokens: int = 0
    ) -> QuestionResult:
        """Return how much evidence the request for a question contains, and how the search ranks it.

        Args:
            message: the message that asks the question, by default the question itself.
            tool_tokens: the token limit of an additional lookup by memory_recall.
        """
        started = time.perf_counter()
        relevant = await self.find_relevant(session, message or question.text)
        relevant += await self.look_up(session, question.text, tool_tokens, relevant) if tool_tokens else ""
        spent = 1000 * (time.perf_counter() - started)
        shown = sum(is_in(texts[key], relevant) for key in question.evidence) / len(question.evidence)
        only = Filter(kinds=[MESSAGE_KIND])
        hits = await self._recall.find_hits(question.text, session.owner, only, max(DEPTHS))
        places = {content: rank for rank, content in reversed([*enumerate((hit.content for hit in hits), 1)])}
        ranks = tuple(places[texts[key]] for key in question.evidence if texts[key] in places)
        tokens = self._counter.count(relevant)
        words = compute_answer_words(question.answer, [texts[key] for key in question.evidence], relevant)
        return QuestionResult(question.category, shown, tokens, spent, len(question.evidence), ranks, words)


async def ask_all(
    dialogues: list[Dialogue],
    form: Form,
    embedder: Embedder | None,
    within: Within = str,
    among: int = 0,
    ordinary: bool = False,
    tool_tokens: int = 0,
) -> tuple[list[QuestionResult], dict[str, float]]:
    """Ask all questions of all dialogues in one form, in a separate store. Also return the noise.

    The noise is the share of English messages in tests/sets/unrelated_messages.json, by kind, that show any memory.

    Args:
        within: converts questions and unrelated messages to messages.
        among: number of imported messages per owner, made of the words of the other dialogues or of ordinary ones.
        tool_tokens: token limit of an additional lookup by several wordings of the question.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            kept = [
                (dialogue, await store_dialogue(database, dialogue, str(number), form))
                for number, dialogue in track([*enumerate(dialogues)], f"Keeping the {form} form", console=_STDERR)
            ]
            if among:
                from bot.features.imports.importing import ForeignImport
            for number, (_, session) in enumerate(track(kept, "Importing", console=_STDERR) if among else ()):
                others = dialogues[:number] + dialogues[number + 1 :]
                alike = [text for other in others for text in other.texts.values()]
                texts = read_other_messages("en") if ordinary else alike
                history = write_history(Path(folder) / "history.zip", texts, among)
                ledger = create_ledger(database, system_clock)
                await ForeignImport(database, ledger, in_utc).run(history, session)
            vector_search = await embed_missing(database, Search(database), embedder) if embedder is not None else None
            asking = Asker(database, Ranker(database, vector_search))
            asked = [(s, d.texts, question) for d, s in kept for question in d.read_questions(form)]
            answers = [
                await asking.ask(session, question, texts, within(question.text), tool_tokens)
                for session, texts, question in track(asked, f"Asking in the {form} form", console=_STDERR)
            ]
            noise: dict[str, float] = {}
            for kind, messages in _read_unrelated().items():
                shown = [
                    await asking.find_relevant(session, within(message)) for _, session in kept for message in messages
                ]
                noise[kind] = sum(map(bool, shown)) / len(shown)
            return answers, noise
        finally:
            await database.close()


def _read_unrelated() -> dict[str, list[str]]:
    kinds = json.loads(UNRELATED.read_text(encoding="utf-8"))
    return {kind: messages["en"] for kind, messages in kinds.items() if kind != "about"}


def is_in(text: str, request: str) -> bool:
    """Return True if a request contains a message, or a recognizable part of a long one."""
    line = " ".join(text.split())
    starts = range(0, max(1, len(line) - RECOGNIZED_CHARS + 1), 10)
    return line in request or (
        len(line) > RECOGNIZED_CHARS and any(line[at : at + RECOGNIZED_CHARS] in request for at in starts)
    )


def compute_answer_words(answer: str, evidence: list[str], request: str) -> float | None:
    """Return the share of the answer's words in the evidence that a request contains, or None without such words."""
    terms = QueryTerms(answer)
    told = {term for text in evidence for term in terms.count_terms(text)}
    return len(told & terms.count_terms(request).keys()) / len(told) if told else None


async def _compare_with_peers(
    dialogues: list[Dialogue], used: Embedder | None, embedder: Embedder, of_mneme: list[QuestionResult]
) -> dict[str, list[QuestionResult]]:
    """Return the answers of each method, Mneme's last. `of_mneme` are those in the group form with `used`."""
    from benchmarks.locomo_peers import ask_peers

    compared = await ask_peers(dialogues, embedder)
    if used is None:
        with_embedder, _ = await ask_all(dialogues, Form.GROUP, embedder)
        return compared | {"Mneme, words alone": of_mneme, "Mneme, embedder": with_embedder}
    by_words, _ = await ask_all(dialogues, Form.GROUP, None)
    return compared | {"Mneme, words alone": by_words, "Mneme, embedder": of_mneme}


def _format_noise(noise: dict[str, float]) -> str:
    parts = ", ".join(f"{kind.replace('_', ' ')} {part:.0%}" for kind, part in noise.items())
    return f"unrelated messages that show anything: {parts}"


_STDERR = Console(stderr=True)


def _create_talk(lengths: list[int]) -> dict[str, Within]:
    """Return functions that convert a question to a message, by their name in the tables."""
    return {
        f"talk of {words} {place}, {style}": partial(put_inside_talk, place=place, words=words, style=style)
        for words in lengths
        for place in TalkPosition
        for style in Style
    }


async def main() -> None:
    """Store, ask and print the tables, and optionally write all figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument("--embedder", action="store_true", help="compare meanings by the local embedding model")
    parser.add_argument("--peers", action="store_true", help="ask other methods too; compares meanings")
    parser.add_argument(
        "--talk", type=int, nargs="*", choices=PARTS, help="ask each question inside so many words of talk too"
    )
    parser.add_argument("--tool", action="store_true", help="look each question up by memory_recall too, reworded")
    parser.add_argument("--ordinary", action="store_true", help="have those speak of everyday things")
    parser.add_argument("--among", type=int, default=0, help="ask also among so many imported messages")
    arguments = parser.parse_args()
    configure_logging("critical", "console")
    lengths = [] if arguments.talk is None else arguments.talk or [*PARTS]
    dialogues = read_dialogues(arguments.path)
    local = create_local_embedder()
    used = local if arguments.embedder else None
    compared: dict[str, list[QuestionResult]] = {}
    try:
        measured = {form: await ask_all(dialogues, form, used) for form in Form}
        talked = {
            name: await ask_all(dialogues, Form.PERSONAL, used, within)
            for name, within in _create_talk(lengths).items()
        }
        hidden = {
            f"{form}, among {arguments.among:,}": await ask_all(
                dialogues, form, used, among=arguments.among, ordinary=arguments.ordinary
            )
            for form in ((Form.PERSONAL,) if arguments.among else ())
        }
        looked_up = {
            f"memory_recall, {tokens:,} tokens": await ask_all(dialogues, Form.PERSONAL, used, tool_tokens=tokens)
            for tokens in (TOOL_TOKENS if arguments.tool else ())
        }
        if arguments.peers:
            compared = await _compare_with_peers(dialogues, used, local, measured[Form.GROUP][0])
    finally:
        await local.close()
    console = Console(width=110)
    console.print(build_headline_table({form: answers for form, (answers, _) in measured.items()}))
    for form, (answers, noise) in measured.items():
        console.print(f"{form} form, {_format_noise(noise)}", soft_wrap=True)
        console.print(build_ranking_table(form, answers))
    for besides in filter(None, (looked_up, talked, hidden)):
        console.print(build_headline_table({name: answers for name, (answers, _) in besides.items()}))
    for name, (_, noise) in (talked | hidden).items():
        console.print(f"{name}, {_format_noise(noise)}", soft_wrap=True)
    if compared:
        console.print(build_methods_table(compared))
    if arguments.json is not None:
        figures: dict[str, object] = {"at": f"{datetime.now(UTC):%Y-%m-%d}"}
        figures |= {"questions": len(measured[Form.GROUP][0])}
        figures |= {"forms": [build_report(form, *of) for form, of in measured.items()]}
        figures |= {"tool": {name: summarize(answers) for name, (answers, _) in looked_up.items()}} if looked_up else {}
        figures |= {"talk": {name: summarize(answers) for name, (answers, _) in talked.items()}} if talked else {}
        figures |= {"among": {name: summarize(answers) for name, (answers, _) in hidden.items()}} if hidden else {}
        figures |= {"peers": {name: summarize(answers) for name, answers in compared.items()}} if compared else {}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
