"""Records family.md: a week of four people and a group with MEMORY_SCOPE=family.

The scripted model answers only from its request, and otherwise says that it doesn't know.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.kernel import App
from tests.recordings.player import ANN, Clock, running, scripted
from tests.support.bot_api.chats import BotMessage
from tests.support.bot_api.server import BotApiServer
from tests.support.features import wait_for_captures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

PAGE = Path(__file__).with_name("family.md")
HEAD = """\
# A family's week

Recorded with `python -m tests.recordings`. The model is scripted: it answers from the contents of its request, and says
so if there is no answer in it. Buttons are in [brackets].
"""
OLGA, MARK, LENA, TIM, HOME = ANN, 2002, 3003, 4004, -1005005
NAMES = {OLGA: "Olga", MARK: "Mark", LENA: "Lena", TIM: "Tim", HOME: "the group Home"}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
KNOWS = {"spare key": "Nina", "cake": "walnuts", "wifi": "Kolibri"}
"""The model's answers by the words of a question. It gives the answer only if its request contains it."""
WEEK = """\
Olga: Remember for all: the spare key is at Nina's.
Olga: What I give her for her birthday is nobody's business: a kite for Lena.
2|Lena: Hello, it's me.
Olga presses Family
Lena: Where is the spare key?
Mark: I can't eat walnuts.
Mark: Good evening!
Mark presses For all
Olga: What must I not put into Mark's cake?
3|Tim: Hello, I'm the babysitter.
Olga presses Guest
Tim: Where is the spare key?
Mark in Home: @mneme_test_bot where is the spare key?
Olga: /letin -1005005 family
Mark in Home: @mneme_test_bot where is the spare key?
Lena: Remember for all: the wifi is called Kolibri, and Tim owes me a beer
Olga: /shared
Olga presses /withdraw
Olga presses Undo
Mark: /forget all confirm
Olga: /shared"""
MONDAY = datetime(2026, 11, 23, 10, 9, tzinfo=UTC)
LINES_PER_DAY = (2, 3, 4, 3, 3, 4, 2)


@dataclass(frozen=True, slots=True)
class Line:
    """A message in the recording."""

    chat: int
    sender: str
    text: str
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" to {NAMES[self.chat]}" if self.sender == "Mneme" else (" in Home" if self.chat == HOME else "")
        text = re.sub(r"\n+", "\n    ", self.text)
        return f"{self.sender}{where}: {text}{''.join(f'  [{label}]' for label in self.labels)}"


class Family:
    """The people and the group, with the messages in their chats."""

    def __init__(self, app: App, telegram: BotApiServer, clock: Clock) -> None:
        self._app = app
        self._telegram = telegram
        self._clock = clock
        self._shown: dict[tuple[int, int], str] = {}

    async def does(self, line: str) -> list[Line]:
        """Play a line and return the new messages of all chats. It begins with their number unless that is one."""
        count, _, line = line.rpartition("|")
        if (pressed := re.fullmatch(r"(\w+) presses (.+)", line)) is not None:
            person = _number(pressed[1])
            await self._press(person, pressed[2])
            said = Line(person, NAMES[person], f"[{pressed[2]}]")
        else:
            match = re.fullmatch(r"(\w+)( in Home)?: (.+)", line)
            assert match is not None, line
            person = _number(match[1])
            said = Line(HOME if match[2] else person, NAMES[person], match[3])
            self._telegram.user_says(
                match[3],
                chat_id=said.chat,
                chat_type="supergroup" if match[2] else "private",
                user_id=person,
                first_name=NAMES[person],
                language_code="en",
                fields={"date": int(self._clock.now.timestamp())},
            )
        await self._telegram.wait_for(lambda: len(list(self._news())) >= int(count or 1))
        # Captured statements are judged after the turn.
        await self._app.runner.wait_until_idle(f"telegram:{said.chat}")
        await wait_for_captures(self._app)
        return [said, *self._take()]

    async def _press(self, person: int, label: str) -> None:
        if label.startswith("/"):  # A command in a text, which Telegram shows as a link.
            text = next(m.text for m in reversed(self._telegram.list_sent(person)) if f"{label}_" in m.text)
            command = re.search(rf"{label}_\d+", text)
            assert command is not None
            self._telegram.user_says(command[0], chat_id=person, first_name=NAMES[person])
            return
        found = [
            (message, button)
            for message in reversed(self._telegram.list_sent(person))
            for row in (message.reply_markup or {}).get("inline_keyboard", [])
            for button in row
            if button["text"] == label
        ]
        assert found, f"{label} is not under what Mneme said: {[m.text for m in self._telegram.list_sent(person)]}"
        message, button = found[0]
        self._telegram.user_presses(button["callback_data"], message.message_id, person, person)

    def _news(self) -> Iterator[tuple[int, BotMessage]]:
        for chat in NAMES:
            for message in self._telegram.list_sent(chat):
                if self._shown.get((chat, message.message_id)) != message.text:
                    yield chat, message

    def _take(self) -> Iterator[Line]:
        for chat, message in list(self._news()):
            self._shown[chat, message.message_id] = message.text
            rows = (message.reply_markup or {}).get("inline_keyboard", [])
            yield Line(chat, "Mneme", message.text, tuple(str(button["text"]) for row in rows for button in row))


def _number(name: str) -> int:
    return next(number for number, called in NAMES.items() if called == name)


def answer(request: ChatRequest) -> Says:
    """Answer as the scripted model, only from the request."""
    question = request.said[-1]
    for words, known in KNOWS.items():
        if words in question and question.rstrip().endswith("?"):
            return Says(f"{known[0].upper()}{known[1:]}." if known in request.prompt else "I don't know that.")
    return Says("All right.")


def judged(request: ChatRequest) -> Says:
    """Judge captured statements as the scripted model: only the one about walnuts is a memory."""
    claims = request.prompt.rpartition("## Claims")[2]
    return Says('{"1": {"verdict": "follows", "kind": "preference"}}' if "walnuts" in claims else "{}")


async def week() -> str:
    """Play the week and return it as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        async with BotApiServer() as telegram, ModelServer() as model:
            model.otherwise = answer
            model.second_look = judged
            clock = Clock(MONDAY)
            telegram.register_chat(HOME, chat_type="supergroup", name="Home")
            family = f"{OLGA},{MARK},{HOME}"
            settings = scripted(Path(folder), model) | {"memory_scope": "family", "telegram_allowed_ids": family}
            async with running(settings, telegram, clock) as app:
                scenes, lines = Family(app, telegram, clock), iter(WEEK.splitlines())
                parts = []
                for day, count in zip(DAYS, LINES_PER_DAY, strict=True):
                    shown = [line for _ in range(count) for line in await scenes.does(next(lines))]
                    parts.append("\n".join([f"{day}", *map(str, shown)]))
                    clock.now += timedelta(days=1)
                return "```text\n" + "\n\n".join(parts) + "\n```"


async def page() -> str:
    """Return the content of family.md."""
    return "\n".join([HEAD, await week()]) + "\n"
