"""Nothing lost, nothing doubled: `mneme run` is killed at random moments, with faults besides, and all is counted.

    python -m benchmarks.storm                      1,000 kills; some 25 minutes
    python -m benchmarks.storm --kills 100 --faults with errors, resets, lost answers and stalls of Telegram, a full
                                                    disk (not with --power-cut), a damaged index
    python -m benchmarks.storm --kills 100 --power-cut    and what was not synced is gone (needs a C compiler)

The real program talks to a Bot API server and a scripted model in this process, which streams its answers, calls
tools, and says in each answer which messages it has read. People write in five chats and a group, remember and undo,
begin conversations anew and compact them, import files, approve calls of tools and share memories with their family
(benchmarks/storm_deeds.py), and tasks come due: with --power-cut, which sees the bot's writes alone, while it is down.
At the end the program may finish; then every message and every task must have been worked on in one turn and answered,
every note stand once, every /undo have undone one change. A message that Telegram showed twice, since its confirmation
was lost with the process or with the line, is counted apart: nobody can know. So is one that two kills have hit, and
that was given up with a sentence at the third start.
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
from typing import TYPE_CHECKING, Any

from benchmarks.power_cut import PowerCut
from benchmarks.storm_deeds import IMPORTING, SHARING, TOOL, Deeds
from tests.support.damage import spoil
from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import Calls, ModelServer, Says
from tests.support.servers.telegram import BotApiServer

if TYPE_CHECKING:
    from tests.support.servers.model import ChatRequest, Reply

    JsonObject = dict[str, object]

CHATS = [1001, 1002, 1003, 1004, 1005]
UNDOING, GROUP = 1006, -100500
END = "so it is."
"""How each answer of the model ends: what is shown without it is the half of one."""
GIVEN_UP = "I couldn't answer this message: I crashed on it twice"
"""What is said of a message that the program was killed over twice: it is in the log, and nothing was done for it."""
PATIENCE = 180
_SAID = re.compile(r"\b[akmtrux]\d+\b")
_GIVEN_UP_MESSAGES = (
    "SELECT content FROM messages WHERE role = 'user' AND turn_id IN (SELECT turn_id FROM outbox"
    " WHERE state = 'sent' AND text LIKE '%answer this message: I crashed on it twice%')"
)
_HOSTILE: JsonObject = {"query": "a{9999999}", "regex": True}
"""A regular expression that takes 2.7 GB to compile: the model looks for it where a message has the mark x."""


@dataclass(slots=True)
class Sent:
    """What people have sent: the marks of their messages, by chat."""

    marks: dict[str, int] = field(default_factory=dict)
    updates: dict[tuple[int, int], str] = field(default_factory=dict)
    undos: int = 0
    commands: int = 0

    def new(self, kind: str, chat: int) -> str:
        """A mark for one more message in a chat."""
        mark = f"{kind}{len(self.marks)}"
        self.marks[mark] = chat
        return mark


def answer(chat: ChatRequest) -> Reply:
    """What the model says: which messages it has read; a note first where one asks for it."""
    newest = []
    for message in reversed(chat.messages):
        if message["role"] == "assistant" and not message.get("tool_calls"):
            break
        newest.append(message)
    read = [mark for m in reversed(newest) if m["role"] == "user" for mark in _SAID.findall(asked(m["content"]))]
    wanted = [_call(mark) for mark in read if mark[0] in "atx"]
    done = sum(len(m.get("tool_calls") or []) for m in newest)
    if wanted[done:] and chat.body.get("tools"):
        return Calls((wanted[done],))
    return Says(f"I have read {' '.join(dict.fromkeys(read))} and {'thought about it, ' * 12}{END}")


def _call(mark: str) -> tuple[str, JsonObject]:
    if mark.startswith("x"):
        return "history_search", _HOSTILE
    if mark.startswith("a"):
        return TOOL, {"path": mark, "content": "the cargo"}
    return "note_add", {"name": mark, "content": f"the boat {mark} lies in port"}


def asked(content: str) -> str:
    """What the person has said in a message, without what was put behind it."""
    return content.partition("<context>")[0]


def people_write(telegram: BotApiServer, sent: Sent, chance: random.Random) -> None:
    """Somebody does something."""
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
    sent.updates[chat, telegram.message_id_of(update)] = mark


def task_comes_due(sent: Sent, chance: random.Random, folder: Path) -> None:
    """A task of one of the chats that has written before is due now."""
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
    del sent.marks[mark]  # nobody there yet, or the database busy


async def fill_the_disk(
    process: asyncio.subprocess.Process, telegram: BotApiServer, sent: Sent, chance: random.Random, folder: Path
) -> None:
    """No file may grow for a moment in which people go on writing.

    Only where nothing waits: what a command or a tool could not do then is refused, and that is as it should be.
    """
    if telegram.pending_update_ids or not _is_at_rest(folder):
        return
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))
    for _ in range(chance.randrange(1, 4)):
        chat = chance.choice(CHATS)
        mark = sent.new("m", chat)
        update = telegram.user_says(f"Please look at {mark}", chat_id=chat)
        sent.updates[chat, telegram.message_id_of(update)] = mark
        await asyncio.sleep(chance.uniform(0, 0.3))
    if chance.random() < 0.7:  # else it is killed on a full disk
        await asyncio.sleep(chance.uniform(0, 0.5))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))


def damage_the_index(folder: Path, chance: random.Random) -> None:
    """Write over a page of the index, while nobody has it open."""
    if (folder / "data" / "mneme.db").exists():
        spoil(folder / "data" / "mneme.db", chance.choice(["search_data", "search_idx", "search_docsize"]))


def trouble(telegram: BotApiServer, chance: random.Random) -> None:
    """Something goes wrong at Telegram, or on the way there."""
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
        case 5:  # a Bot API server that starts, or a proxy's page: nothing that may end the bot
            code = chance.choice([200, 401, 404])
            telegram.fault("*", error_code=code, html=code == 200 or chance.random() < 0.5, seconds=2)
        case 6:  # what Telegram confirms can't be read
            telegram.fault("sendMessage", body=b'{"ok":true,"result":{"message_id":1', applied=True)
        case 7:  # nothing that can be kept, and the same message again
            number = telegram.user_says("nothing that was said", chat_id=chance.choice(CHATS))
            telegram.spoil(number, "date", 2**63)
            telegram.delivers_again(telegram.user_says("/status", chat_id=chance.choice(CHATS)))
        case _:
            telegram.fault(method, stall=True)


async def storm(kills: int, *, faults: bool, power_cut: bool, seed: int) -> int:
    """Run it and print what came of it; how much was lost, doubled or left half."""
    chance, sent = random.Random(seed), Sent()
    # a connection that the killed program leaves is no news
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
                    await _live(telegram, sent, chance, deeds, None if power_cut else folder, faults=faults)
                    if faults and power is None and chance.random() < 0.1:
                        await fill_the_disk(process, telegram, sent, chance, folder)
                if power is not None:
                    power.cut()
                    if chance.random() < 0.5:
                        task_comes_due(sent, chance, folder)
                        power.keep_all()
                if faults and chance.random() < 0.05:
                    damage_the_index(folder, chance)
                if number % 50 == 49:
                    print(
                        f"{number + 1} kills, {len(sent.marks)} messages, {time.monotonic() - began:.0f} s", flush=True
                    )
            telegram.clear_faults()
            async with running_bot(environment, folder) as process:
                await _quiet(telegram, folder, deeds)
                # a kill in the middle of an import leaves the rest to the next one
                while deeds.import_again(telegram):
                    await _quiet(telegram, folder, deeds)
                process.terminate()
                await process.wait()
            return _count(telegram, sent, folder, deeds)


async def _live(
    telegram: BotApiServer, sent: Sent, chance: random.Random, deeds: Deeds, folder: Path | None, *, faults: bool
) -> None:
    """Let the program live for a moment: mostly until it works, and then for the length of a turn.

    folder: where tasks come due.
    """
    if folder is not None and chance.random() < 0.5:
        task_comes_due(sent, chance, folder)
    for _ in range(chance.randrange(4)):
        people_write(telegram, sent, chance)
    if chance.random() < 0.15:
        await asyncio.sleep(chance.uniform(0, 1.5))
        return
    polls = len(telegram.calls_to("getUpdates"))
    await telegram.wait_for(lambda: len(telegram.calls_to("getUpdates")) > polls, timeout=PATIENCE)
    if chance.random() < 0.7:  # else what is asked waits for an answer at the kill
        deeds.press_all(telegram, CHATS)
    for _ in range(chance.randrange(3)):
        if faults and chance.random() < 0.5:
            trouble(telegram, chance)
        people_write(telegram, sent, chance)
        deeds.act(telegram, chance, CHATS)
        await asyncio.sleep(chance.uniform(0, 0.25))
    # A few lives are long enough for an import, which needs two turns and a button between them.
    await asyncio.sleep(chance.uniform(1, 4) if chance.random() < 0.15 else chance.uniform(0, 0.3))


async def _quiet(telegram: BotApiServer, folder: Path, deeds: Deeds) -> None:
    """Approve what is asked, and wait until everything that was received is worked on and sent."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        await asyncio.sleep(0.5)
        deeds.press_all(telegram, CHATS)
        if _is_at_rest(folder) and not telegram.pending_update_ids:
            return
    print("it did not come to rest")


def _is_at_rest(folder: Path) -> bool:
    left = _rows(folder, "SELECT count(*) FROM inbox WHERE state <> 'done'")[0][0]
    left += _rows(folder, "SELECT count(*) FROM outbox WHERE state = 'waiting'")[0][0]
    left += _rows(folder, "SELECT count(*) FROM reminders WHERE state IN ('waiting', 'telling')")[0][0]
    return not left


def _rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:  # whatever the columns hold
    with closing(sqlite3.connect(f"file:{folder / 'data' / 'mneme.db'}?mode=ro", uri=True, timeout=30)) as connection:
        return list(connection.execute(sql))


def _count(telegram: BotApiServer, sent: Sent, folder: Path, deeds: Deeds) -> int:
    worked = collections.Counter[str]()
    for (content,) in _rows(folder, "SELECT content FROM messages WHERE role = 'user'"):
        worked.update(_SAID.findall(str(content)))
    shown, half, given_up = collections.Counter[str](), [], set[str]()
    for chat in {*sent.marks.values()}:
        for message in telegram.sent(chat):
            shown.update(set(_SAID.findall(message.text)))
            if GIVEN_UP in message.text:
                given_up |= set(_SAID.findall(message.text)) or {f"/undo {message.message_id}"}
            if message.text.startswith("I have read") and END not in message.text:
                half.append(message.text)
    # of many messages that waited together the sentence quotes the first ones only
    for (content,) in _rows(folder, _GIVEN_UP_MESSAGES):
        given_up |= set(_SAID.findall(str(content)))
    live = "SELECT content FROM entries WHERE deleted_at IS NULL AND kind <> 'archive'"
    stands = collections.Counter[str]()
    for (content,) in _rows(folder, live):
        stands.update(_SAID.findall(str(content)))
    asked_for = [mark for mark in sent.marks if mark[0] in "akmtx"]
    noted = [mark for mark in sent.marks if mark[0] in "tr"]
    # what was given up was or was not done before: of commands in the chat of /undo it is not known which
    unsure = sum(mark[0] in "/u" for mark in given_up)
    remembered = [mark for mark in sent.marks if mark[0] == "u"]
    undone = len(remembered) - sum(stands[mark] for mark in remembered)
    wrong = {
        "messages that no turn has worked on": [m for m in asked_for if worked[m] == 0],
        "messages that two turns have worked on": [m for m in asked_for if worked[m] > 1],
        "messages without an answer in their chat": [
            m for m in sent.marks if shown[m] == 0 and m[0] != "u" and m not in given_up
        ],
        "halves of answers left in a chat": half,
        "notes that are missing": [m for m in noted if stands[m] == 0 and m not in given_up],
        "notes that stand more than once": [m for m in noted if stands[m] > 1],
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
    """Read the command line and let the storm loose; status 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--power-cut", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(
        1
        if asyncio.run(storm(options.kills, faults=options.faults, power_cut=options.power_cut, seed=options.seed))
        else 0
    )


if __name__ == "__main__":
    main()
