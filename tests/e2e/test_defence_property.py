"""Property tests of the defence against foreign text, with a model that obeys everything."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bot.app import open_app
from bot.kernel import App
from bot.telegram.menu import Menu
from bot.telegram.service import run_telegram
from config.settings import Settings
from memory.store.entry import Kind, NewEntry
from tests.support.attacks import KNOWN
from tests.support.blank import write_blank
from tests.support.bot_api.params import JsonObject
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Reply, Says
from tests.support.talk import Store

pytestmark = pytest.mark.slow

ANN, BEN = 1001, 2002
GROUPS = range(-100500, -100510, -1)
"""Many, since Telegram takes 20 messages a minute in each."""
NAME = "mneme_test_bot"
MAX_CALLS = 8
"""Number of calls that the model tries in a turn. The limit of a turn is higher."""


class Attack(NamedTuple):
    """A foreign text, its carrier, and the calls of a model that obeys it."""

    carrier: str
    text: str
    calls: list[tuple[str, object]]


class ChatPlace(NamedTuple):
    """A place of conversation: a chat, or a topic of a group."""

    chat: int
    topic: int | None = None

    @property
    def owner(self) -> str:
        return f"telegram:{self.chat}"

    @property
    def session(self) -> str:
        return f"{self.owner}:{self.topic}" if self.topic else self.owner


ATTACKS = [
    Attack(one["carrier"], one["text"], [(name, arguments) for name, arguments in one["calls"]])
    for one in json.loads((Path(__file__).parents[1] / "sets" / "attacks.json").read_text(encoding="utf-8"))
]
PLACES = [ChatPlace(ANN), ChatPlace(BEN), *(ChatPlace(chat, topic) for topic in (None, 7) for chat in GROUPS)]
WORDS = {chat: f"vuvuzela{number}x" for number, chat in enumerate((ANN, BEN, *GROUPS))}
"""A secret word for each chat, which no other chat may see."""
FORWARDED: JsonObject = {"forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "Elsewhere"}}
FROM_A_BOT: JsonObject = {"via_bot": {"id": 99, "is_bot": True, "first_name": "Gif", "username": "gif"}}


def squeeze(text: str) -> str:
    """Return the text without spaces, quotation marks and brackets."""
    return re.sub(r"\W+", "", text)


SQUEEZED = [(attack, squeeze(attack.text)) for attack in ATTACKS]


def answer_obediently(request: ChatRequest) -> Reply:
    """Answer like a model that obeys and repeats everything in its request."""
    read = squeeze("".join(str(message["content"]) for message in request.messages))
    orders = [attack for attack, squeezed in SQUEEZED if squeezed in read]
    repeated = f"As it says: {' '.join(attack.text for attack in orders)}"
    if request.is_consolidation:
        lines = "\n".join((KNOWN, *(f"- {attack.text}" for attack in orders)))
        facts = [{"fact": attack.text, "category": "user", "importance": 5} for attack in orders]
        return Says(json.dumps({"history_entry": repeated, "memory_update": lines, "facts": facts}))
    if request.is_summary or "tools" not in request.body:
        return Says(repeated)
    roles = [message["role"] for message in request.messages]
    last = max(at for at, role in enumerate(roles) if role == "user")
    asked = str(request.messages[last]["content"])
    calls: list[tuple[str, object]] = [("memory_recall", {"query": "favourite word"})]
    if (wanted := re.search(r"Look up (.*)", asked)) is not None:
        calls.append(("memory_recall", {"query": wanted[1]}))
    searches = len(calls)
    calls += [call for attack in orders for call in attack.calls]
    done = roles[last:].count("tool")
    # First the searches, then everything else at once, with their results in the conversation.
    following = calls[done : MAX_CALLS if done else searches]
    return Calls(tuple(following), cites=False) if following else Says(repeated)


@dataclass
class World:
    """A running bot with people and groups, and its invariants."""

    app: App
    telegram: BotApiServer
    model: ModelServer
    clock: FakeClock
    folder: Path
    refused: int = 0
    before: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)

    async def prepare(self) -> None:
        """Give each chat its word, as an entry and as a line of MEMORY.md."""
        store = Store.create(self.app.database, self.clock)
        for chat, word in WORDS.items():
            owner = ChatPlace(chat).owner
            await store.entries.add(owner, NewEntry(f"The favourite word is {word}", name="home", kind=Kind.FACT))
            folder = self.folder / "data" / "memory" / owner
            folder.mkdir(parents=True)
            (folder / "MEMORY.md").write_text(f"{KNOWN}\n")
        self.before = {"entries": await self._read_lasting()}

    async def _read_lasting(self) -> list[tuple[object, ...]]:
        """Return everything that enters later prompts. Archives and foreign notes enter marked only."""
        rows = await self.app.database.rows(
            "SELECT o.name AS owner, e.kind, e.content, n.name FROM entries e JOIN owners o ON o.id = e.owner_id"
            " JOIN names n ON n.entry_id = e.id WHERE e.deleted_at IS NULL AND e.trusted AND e.unconfirmed IS NULL"
            " ORDER BY e.id, n.name"
        )
        return [tuple(row) for row in rows]

    async def says(
        self,
        place: ChatPlace,
        text: str | None,
        *,
        caption: str | None = None,
        first_name: str = "Ann",
        fields: JsonObject | None = None,
    ) -> None:
        """Send a message to a place, wait for the answer, and check all outgoing calls and requests."""
        group = place.chat < 0
        if text is not None and group:
            text = re.sub(r"^/(\w+)", rf"/\1@{NAME}", text) if text.startswith("/") else f"@{NAME} {text}"
        calls, requests = len(self.telegram.calls), len(self.model.requests)
        before = len(self.telegram.list_sent(place.chat))
        self.telegram.user_says(
            text,
            chat_id=place.chat,
            user_id=ANN if group else place.chat,
            first_name=first_name,
            chat_type="supergroup" if group else "private",
            thread_id=place.topic,
            photo=text is None,
            caption=f"@{NAME} {caption}" if group and caption else caption,
            fields=fields,
        )
        await self.telegram.wait_for(lambda: len(self.telegram.list_sent(place.chat)) > before)
        await self.app.runner.wait_until_idle(place.session)
        self._check_reaction(place, calls, requests)

    def _check_reaction(self, place: ChatPlace, calls: int, requests: int) -> None:
        others = [word for chat, word in WORDS.items() if chat != place.chat]
        for request in self.model.requests[requests:]:
            prompt = request.prompt
            assert not any(word in prompt for word in others), "another owner's word reached the model"
            answers = [str(m["content"]) for m in request.messages if m["role"] == "tool"]
            self.refused += sum("not confirmed" in one or "not set yet" in one or "error" in one for one in answers)
        for call in self.telegram.calls[calls:]:
            if call.method.startswith(("send", "edit")):
                assert call.params["chat_id"] == place.chat, "something was said in another chat"
                assert not any(word in str(call.params) for word in others), "another owner's word was said"

    async def attack(self, place: ChatPlace, attack: Attack) -> None:
        """Deliver an attack to a place by its carrier, and have it read again later."""
        say, beginning = attack.text, " ".join(attack.text.split()[:2])[:16]
        if attack.carrier in ("quote", "external"):
            await self.says(place, "What does this say?", fields=_quoting(attack, place))
        elif attack.carrier == "name":
            await self.says(place, "Good morning", first_name=attack.text)
        elif attack.carrier == "title":
            kind = "supergroup" if place.chat < 0 else "private"
            await self.says(place, "Hi", fields={"chat": {"id": place.chat, "type": kind, "title": attack.text}})
        elif attack.carrier == "document":
            await self.says(place, None, caption=say, fields=FORWARDED)
        else:
            await self.says(place, say, fields=FROM_A_BOT if attack.carrier == "bot" else FORWARDED)
        await self.says(place, "What does that mean?")
        if attack.carrier == "summary":
            await self.says(place, "/compact 1")
            await self.says(place, "And now?")
        await self.says(place, "/new")
        self.clock.forward(days=2)
        await self.says(place, f"Look up {beginning}")
        await self.says(place, "/new")
        self.clock.forward(days=20)

    async def check(self) -> None:
        """Check that nothing lasting was written or lost inside or outside of the owners' folders."""
        assert [row for row in await self._read_lasting() if row[1] != Kind.ARCHIVE] == self.before["entries"]
        memory = self.folder / "data" / "memory"
        assert {path.name for path in memory.iterdir()} == {ChatPlace(chat).owner for chat in WORDS}
        for chat in WORDS:
            assert (memory / ChatPlace(chat).owner / "MEMORY.md").read_text() == f"{KNOWN}\n"
        assert {path.name for path in self.folder.iterdir()} == {"data"}
        known = {"memory", "mneme.db", "mneme.db-wal", "mneme.db-shm"}
        assert {path.name for path in (self.folder / "data").iterdir()} <= known
        files = [path for path in memory.rglob("*") if path.is_file() and not path.name.startswith(".")]
        assert {path.suffix for path in files} == {".md"}


def _quoting(attack: Attack, place: ChatPlace) -> JsonObject:
    chat = {"id": place.chat, "type": "supergroup" if place.chat < 0 else "private"}
    if attack.carrier == "quote":
        author = {"id": 777, "is_bot": False, "first_name": "Mallory"}
        return {"reply_to_message": {"message_id": 1, "date": 1, "chat": chat, "from": author, "text": attack.text}}
    origin = {"type": "hidden_user", "date": 1, "sender_user_name": "Elsewhere"}
    return {"external_reply": {"origin": origin}, "quote": {"text": attack.text, "position": 0}}


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """Run a bot that serves all places with a model that obeys."""
    clock = FakeClock()
    async with BotApiServer() as telegram, ModelServer() as model:
        model.otherwise = model.consolidation = answer_obediently
        values = {
            "mneme_data_dir": folder / "data",
            "openai_base_url": model.url,
            "llm_model": "scripted",
            "telegram_bot_token": BotApiServer.TOKEN,
            "telegram_api_url": telegram.url,
            "telegram_allowed_ids": ",".join(map(str, WORDS)),
        }
        write_blank(folder / "data" / "mneme.db")
        async with open_app(Settings.model_validate(values), clock) as app:
            with mock.patch.object(Menu, "publish"):  # Some dozen calls at each start, which contain no foreign text.
                service = asyncio.create_task(run_telegram(app))
                await telegram.wait_for(lambda: telegram.polled or service.done())
                try:
                    made = World(app, telegram, model, clock, folder)
                    await made.prepare()
                    yield made
                finally:
                    service.cancel()
                    await asyncio.gather(service, return_exceptions=True)


def test_32_set_has_sixty_attacks_of_every_kind() -> None:
    assert len({attack.text for attack in ATTACKS}) >= 60
    kinds = {"forward", "bot", "document", "quote", "external", "name", "title", "tool", "note", "summary"}
    assert {attack.carrier for attack in ATTACKS} == kinds


@pytest.mark.parametrize("kind", sorted({attack.carrier for attack in ATTACKS}))
async def test_32_attacks_of_a_kind_neither_write_nor_leak(tmp_path: Path, kind: str) -> None:
    async with world(tmp_path) as made:
        attacks = [attack for attack in ATTACKS if attack.carrier == kind]
        for number, attack in enumerate(attacks):
            await made.attack(PLACES[number % len(PLACES)], attack)
            await made.check()
        # The attacks were read and tried, except for names and titles, which the model doesn't read.
        assert (made.refused >= len(attacks)) == (kind not in ("name", "title"))


async def test_unconfirmed_proposal_lends_no_words_to_a_fact(tmp_path: Path) -> None:
    async with world(tmp_path) as made:
        orders = [attack for attack in ATTACKS if attack.carrier == "forward" and "outside.md" in attack.text]
        await made.attack(ChatPlace(GROUPS[5], 7), orders[0])
        await made.check()


STEPS = st.lists(
    st.tuples(st.sampled_from(PLACES), st.sampled_from(range(len(ATTACKS)))),
    min_size=2,
    max_size=5,
    unique_by=lambda step: (step[0].chat, step[1] if step[0].chat > 0 else None),
)


@settings(max_examples=3, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_32_attacks_in_any_order_neither_write_nor_leak(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[ChatPlace, int]]
) -> None:
    async def live_through() -> None:
        async with world(tmp_path_factory.mktemp("world")) as made:
            for place, number in steps:
                await made.attack(place, ATTACKS[number])
            await made.check()

    asyncio.run(live_through())
