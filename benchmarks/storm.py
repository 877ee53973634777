"""Crash test: `mneme run` is killed at random times, with further faults, and nothing may be lost or done twice.

    python -m benchmarks.storm                      1,000 kills; about 25 minutes
    python -m benchmarks.storm --kills 100 --faults with errors, resets, lost answers and stalls of Telegram, a full
                                                    disk (not with --power-cut), and a damaged index
    python -m benchmarks.storm --kills 100 --power-cut    also loses unsynced data (needs a C compiler)

The program talks to a Bot API server and a scripted model in this process, which streams its answers, calls tools, and
lists the messages that it has read. Users write in five chats and a group, remember and undo, start new conversations
and compact them, import files, approve tools and share memories (benchmarks/storm_deeds.py). Tasks become due; with
--power-cut, which sees only the bot's writes, they do while it is down.

At the end the program may finish. Then every message and task must have been handled by one turn and answered, every
note must exist once, and every /undo must have undone one change. Messages that Telegram showed twice, because a
confirmation was lost, are counted separately, since they can't be prevented. So are messages that were given up after
two kills, with a sentence at the third start.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import random
import re
import resource
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.power_cut import PowerCut
from benchmarks.storm_deeds import IMPORTING, SHARING, TOOL, Deeds
from tests.support.bot_api.server import BotApiServer
from tests.support.damage import spoil
from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Reply, Says

JsonObject = dict[str, object]

CHATS = [1001, 1002, 1003, 1004, 1005]
UNDOING, GROUP = 1006, -100500
END = "so it is."
"""End of each answer. A message without it was only sent in part."""
GIVEN_UP = "I couldn't answer this message: I crashed on it twice"
"""Answer to a message over which the program was killed twice. It is in the log, but nothing was done for it."""
TIMEOUT_SECONDS = 180
_SAID = re.compile(r"\b[akmtrux]\d+\b")
_GIVEN_UP_MESSAGES = (
    "SELECT content FROM messages WHERE role = 'user' AND turn_id IN (SELECT turn_id FROM outbox"
    " WHERE state = 'sent' AND text LIKE '%answer this message: I crashed on it twice%')"
)
_HOSTILE: JsonObject = {"query": "a{9999999}", "regex": True}
"""A regular expression that takes 2.7 GB to compile. The model searches for it in messages with mark x."""


@dataclass(slots=True)
class SentMarks:
    """The marks of sent messages, by chat."""

    marks: dict[str, int] = field(default_factory=dict)
    updates: dict[tuple[int, int], str] = field(default_factory=dict)
    undos: int = 0
    commands: int = 0

    def new(self, kind: str, chat: int) -> str:
        """Return a mark for a new message in a chat."""
        mark = f"{kind}{len(self.marks)}"
        self.marks[mark] = chat
        return mark


def answer(chat: ChatRequest) -> Reply:
    """Answer with the marks of the messages in the request, after calls of tools that they ask for."""
    newest = []
    for message in reversed(chat.messages):
        if message["role"] == "assistant" and not message.get("tool_calls"):
            break
        newest.append(message)
    read = [
        mark for m in reversed(newest) if m["role"] == "user" for mark in _SAID.findall(strip_context(m["content"]))
    ]
    wanted = [_create_call(mark) for mark in read if mark[0] in "atx"]
    done = sum(len(m.get("tool_calls") or []) for m in newest)
    if wanted[done:] and chat.body.get("tools"):
        return Calls((wanted[done],))
    return Says(f"I have read {' '.join(dict.fromkeys(read))} and {'thought about it, ' * 12}{END}")


def _create_call(mark: str) -> tuple[str, JsonObject]:
    if mark.startswith("x"):
        return "history_search", _HOSTILE
    if mark.startswith("a"):
        return TOOL, {"path": mark, "content": "the cargo"}
    return "note_add", {"name": mark, "content": f"the boat {mark} lies in port"}


def strip_context(content: str) -> str:
    """Return the user's part of a message, without the context behind it."""
    return content.partition("<context>")[0]


def write_as_people(telegram: BotApiServer, sent: SentMarks, chance: random.Random) -> None:
    """Send a random message or command."""
    chat = chance.choice([*CHATS, UNDOING, GROUP])
    mark = ""
    if chat == GROUP:
        mark = sent.new("m", chat)
        update = telegram.user_says(f"@mneme_test_bot {mark}", chat_id=chat, user_id=CHATS[0], chat_type="supergroup")
    elif chat == UNDOING:
        if chance.random() < 0.4 and len([m for m in sent.marks if m.startswith("u")]) > sent.undos:
            sent.undos += 1
            update = telegram.user_says("/undo", chat_id=chat)
        else:
            mark = sent.new("u", chat)
            update = telegram.user_says(f"/remember the boat {mark} sails tomorrow", chat_id=chat)
    else:
        kind = chance.choices(["m", "t", "r", "x", "a", "/new", "/compact", "/status"], [10, 4, 3, 1, 3, 1, 1, 1])[0]
        if kind.startswith("/"):
            sent.commands += 1
            update = telegram.user_says(kind, chat_id=chat)
        else:
            mark = sent.new(kind, chat)
            says = f"/remember the boat {mark} is for sale" if kind == "r" else f"Please look at {mark}"
            update = telegram.user_says(says, chat_id=chat)
    sent.updates[chat, telegram.find_message_id(update)] = mark


def make_task_due(sent: SentMarks, chance: random.Random, folder: Path) -> None:
    """Make a task due in one of the chats that have written before."""
    chat = chance.choice(CHATS)
    mark = sent.new("k", chat)
    with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(folder / "data" / "mneme.db")) as connection:
        with connection:
            set_now = connection.execute(
                "INSERT INTO reminders (owner_id, session_id, text, repeat, first, zone, state, task, next_at,"
                " created_at) SELECT id, name, ?1, 'once', '2026-01-01T00:00', 'UTC', 'waiting', 'aloud', ?2, ?2"
                " FROM owners WHERE name = ?3",
                (f"Please look at {mark}", "2026-01-01T00:00:00.000Z", f"telegram:{chat}"),
            )
        if set_now.rowcount:
            return
    del sent.marks[mark]  # No chat has written yet, or the database is busy


async def fill_the_disk(
    process: asyncio.subprocess.Process, telegram: BotApiServer, sent: SentMarks, chance: random.Random, folder: Path
) -> None:
    """Forbid files to grow for a moment, while users go on writing.

    This happens only while nothing waits, since commands and tools rightly fail on a full disk.
    """
    if telegram.pending_update_ids or not _is_at_rest(folder):
        return
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))
    for _ in range(chance.randrange(1, 4)):
        chat = chance.choice(CHATS)
        mark = sent.new("m", chat)
        update = telegram.user_says(f"Please look at {mark}", chat_id=chat)
        sent.updates[chat, telegram.find_message_id(update)] = mark
        await asyncio.sleep(chance.uniform(0, 0.3))
    if chance.random() < 0.7:  # Otherwise the bot is killed on a full disk
        await asyncio.sleep(chance.uniform(0, 0.5))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))


def damage_the_index(folder: Path, chance: random.Random) -> None:
    """Overwrite a page of the index while no process has it open."""
    if (folder / "data" / "mneme.db").exists():
        spoil(folder / "data" / "mneme.db", chance.choice(["search_data", "search_idx", "search_docsize"]))


def cause_fault(telegram: BotApiServer, chance: random.Random) -> None:
    """Cause a random fault of Telegram or the connection."""
    method = chance.choice(["sendMessage", "sendMessage", "editMessageText", "getUpdates", "sendMessageDraft"])
    match chance.randrange(9):
        case 0:
            telegram.fault(method, error_code=chance.choice([500, 502]), html=True, times=2)
        case 1:
            telegram.fault(method, drop=True)
        case 2:
            telegram.fault(method, drop=True, applied=True)
        case 3:
            telegram.fault(method, error_code=429, retry_after=1)
        case 4:
            telegram.fault(method, error_code=404)
        case 5:  # A starting Bot API server or a proxy's page, which must not end the bot
            code = chance.choice([200, 401, 404])
            telegram.fault("*", error_code=code, html=code == 200 or chance.random() < 0.5, seconds=2)
        case 6:  # An unreadable confirmation
            telegram.fault("sendMessage", body=b'{"ok":true,"result":{"message_id":1', applied=True)
        case 7:  # An update that can't be stored, and the same update twice
            number = telegram.user_says("nothing that was said", chat_id=chance.choice(CHATS))
            telegram.spoil(number, "date", 2**63)
            telegram.delivers_again(telegram.user_says("/status", chat_id=chance.choice(CHATS)))
        case _:
            telegram.fault(method, stall=True)


async def run_storm(kills: int, *, faults: bool, power_cut: bool, seed: int) -> int:
    """Run the test and print the results. Return the number of errors."""
    chance, sent = random.Random(seed), SentMarks()
    # Ignore connections that the killed program leaves
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    async with ModelServer() as model, BotApiServer() as telegram:
        model.otherwise = answer
        model.pace = 0.002
        with tempfile.TemporaryDirectory(prefix="mneme-storm-") as name:
            folder = Path(name)
            power = PowerCut(folder / "data", folder) if power_cut else None
            deeds = Deeds(folder)
            environment = bot_environment(telegram, model, *CHATS, UNDOING, GROUP, IMPORTING, SHARING)
            environment |= {"MNEME_DATA_DIR": str(folder / "data"), **(power.environment if power else {})}
            environment |= deeds.environment
            began = time.monotonic()
            for number in range(kills):
                async with running_bot(environment, folder) as process:
                    await _let_run(telegram, sent, chance, deeds, None if power_cut else folder, faults=faults)
                    if faults and power is None and chance.random() < 0.1:
                        await fill_the_disk(process, telegram, sent, chance, folder)
                if power is not None:
                    power.cut()
                    if chance.random() < 0.5:
                        make_task_due(sent, chance, folder)
                        power.sync_all()
                if faults and chance.random() < 0.05:
                    damage_the_index(folder, chance)
                if number % 50 == 49:
                    print(
                        f"{number + 1} kills, {len(sent.marks)} messages, {time.monotonic() - began:.0f} s", flush=True
                    )
            telegram.clear_faults()
            async with running_bot(environment, folder) as process:
                await _wait_until_idle(telegram, folder, deeds)
                # A kill during an import leaves the rest to the next import
                while deeds.import_again(telegram):
                    await _wait_until_idle(telegram, folder, deeds)
                process.terminate()
                await process.wait()
            return _count(telegram, sent, folder, deeds)


async def _let_run(
    telegram: BotApiServer, sent: SentMarks, chance: random.Random, deeds: Deeds, folder: Path | None, *, faults: bool
) -> None:
    """Let the program run for a moment, usually until it polls, and then for about a turn.

    Args:
        folder: the data folder, if tasks may become due.
    """
    if folder is not None and chance.random() < 0.5:
        make_task_due(sent, chance, folder)
    for _ in range(chance.randrange(4)):
        write_as_people(telegram, sent, chance)
    if chance.random() < 0.15:
        await asyncio.sleep(chance.uniform(0, 1.5))
        return
    polls = len(telegram.list_calls("getUpdates"))
    await telegram.wait_for(lambda: len(telegram.list_calls("getUpdates")) > polls, timeout=TIMEOUT_SECONDS)
    if chance.random() < 0.7:  # Otherwise questions are still open at the kill
        deeds.press_all(telegram, CHATS)
    for _ in range(chance.randrange(3)):
        if faults and chance.random() < 0.5:
            cause_fault(telegram, chance)
        write_as_people(telegram, sent, chance)
        deeds.act(telegram, chance, CHATS)
        await asyncio.sleep(chance.uniform(0, 0.25))
    # A few lives are long enough for an import, which needs two turns and a button between them.
    await asyncio.sleep(chance.uniform(1, 4) if chance.random() < 0.15 else chance.uniform(0, 0.3))


async def _wait_until_idle(telegram: BotApiServer, folder: Path, deeds: Deeds) -> None:
    """Approve all questions, and wait until everything that was received is handled and sent."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        await asyncio.sleep(0.5)
        deeds.press_all(telegram, CHATS)
        if _is_at_rest(folder) and not telegram.pending_update_ids:
            return
    print("it did not come to rest")


def _is_at_rest(folder: Path) -> bool:
    left = _read_rows(folder, "SELECT count(*) FROM inbox WHERE state <> 'done'")[0][0]
    left += _read_rows(folder, "SELECT count(*) FROM outbox WHERE state = 'waiting'")[0][0]
    left += _read_rows(folder, "SELECT count(*) FROM reminders WHERE state IN ('waiting', 'telling')")[0][0]
    return not left


def _read_rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{folder / 'data' / 'mneme.db'}?mode=ro", uri=True, timeout=30)) as connection:
        return list(connection.execute(sql))


def _count(telegram: BotApiServer, sent: SentMarks, folder: Path, deeds: Deeds) -> int:
    handled = collections.Counter[str]()
    for (content,) in _read_rows(folder, "SELECT content FROM messages WHERE role = 'user'"):
        handled.update(_SAID.findall(str(content)))
    shown, half, given_up = collections.Counter[str](), [], set[str]()
    for chat in {*sent.marks.values()}:
        for message in telegram.list_sent(chat):
            shown.update(set(_SAID.findall(message.text)))
            if GIVEN_UP in message.text:
                given_up |= set(_SAID.findall(message.text)) or {f"/undo {message.message_id}"}
            if message.text.startswith("I have read") and END not in message.text:
                half.append(message.text)
    # If many messages waited together, the sentence quotes only the first ones
    for (content,) in _read_rows(folder, _GIVEN_UP_MESSAGES):
        given_up |= set(_SAID.findall(str(content)))
    live = "SELECT content FROM entries WHERE deleted_at IS NULL AND kind <> 'archive'"
    stored = collections.Counter[str]()
    for (content,) in _read_rows(folder, live):
        stored.update(_SAID.findall(str(content)))
    asked_for = [mark for mark in sent.marks if mark[0] in "akmtx"]
    noted = [mark for mark in sent.marks if mark[0] in "tr"]
    # A message that was given up may have been handled. In the chat of /undo it is unknown which ones were
    unsure = sum(mark[0] in "/u" for mark in given_up)
    remembered = [mark for mark in sent.marks if mark[0] == "u"]
    undone = len(remembered) - sum(stored[mark] for mark in remembered)
    wrong = {
        "messages that no turn has worked on": [m for m in asked_for if handled[m] == 0],
        "messages that two turns have worked on": [m for m in asked_for if handled[m] > 1],
        "messages without an answer in their chat": [
            m for m in sent.marks if shown[m] == 0 and m[0] != "u" and m not in given_up
        ],
        "halves of answers left in a chat": half,
        "notes that are missing": [m for m in noted if stored[m] == 0 and m not in given_up],
        "notes that stand more than once": [m for m in noted if stored[m] > 1],
        "changes undone too many or too few": ["/undo"] * max(0, abs(undone - sent.undos) - unsure),
    }
    wrong |= deeds.count(telegram, given_up)
    tasks = sum(mark[0] == "k" for mark in sent.marks)
    print(f"sent: {len(sent.marks) - tasks} messages, {sent.undos} /undo, {sent.commands} commands, {tasks} tasks")
    print(f"answered: {sum(shown[m] > 0 for m in sent.marks)}; shown twice: {sum(shown[m] > 1 for m in asked_for)}")
    print(f"given up at their third start, kept in the log and told so: {len(given_up)}")
    for what, which in wrong.items():
        print(f"{what}: {len(which)} {which[:5] if which else ''}")
    return sum(map(len, wrong.values()))


def main() -> None:
    """Parse the command line and run. Exit with status 1 after any error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--power-cut", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(
        1
        if asyncio.run(run_storm(options.kills, faults=options.faults, power_cut=options.power_cut, seed=options.seed))
        else 0
    )


if __name__ == "__main__":
    main()
