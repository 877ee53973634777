"""Further actions of users in the storm: importing files, approving tools and sharing memories, and their results."""

from __future__ import annotations

import collections
import json
import random
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.mcp_servers import Servers

JsonObject = dict[str, Any]

IMPORTING, SHARING = 1007, 1008
TOOL = "trial__write"
"""A tool of another program, which needs approval."""
YES, IMPORT = "Yes, this once", "Import"
CONVERSATIONS, MESSAGES = 12, 12
"""Size of an imported file. Under --power-cut each of its commits copies the whole database."""
_APPROVED = re.compile(r"\ba\d+\b")
_FREIGHT = re.compile(r"\bfreight-\d+-\d+-\d+\b")
_SHARED = re.compile(r"\bf\d+\b")


@dataclass(slots=True)
class Deeds:
    """Actions so far, and their expected results."""

    folder: Path
    servers: Servers = field(init=False)
    pressed: set[str] = field(default_factory=set)
    files: int = 0
    lamps: int = 0
    approvals: int = 0
    imports: int = 0
    is_shared: dict[int, bool] = field(default_factory=dict)
    shares: collections.Counter[int] = field(default_factory=collections.Counter)

    def __post_init__(self) -> None:
        self.servers = Servers(self.folder)
        self.servers(trial=self.servers.trial())

    @property
    def environment(self) -> dict[str, str]:
        """Return the settings for imports, approvals and sharing."""
        return {"MEMORY_SCOPE": "family", "MCP_CONFIG": str(self.servers.path)}

    def act(self, telegram: BotApiServer, chance: random.Random, chats: list[int]) -> None:
        """Press an existing button, send a file, or share something."""
        kind = chance.choices(["press", "file", "lamp", "share"], [5, 2, 2, 4])[0]
        if kind == "press":
            self.press_all(telegram, chats)
        elif kind == "file":
            content = json.dumps([_create_conversation(self.files, number) for number in range(CONVERSATIONS)])
            name = f"conversations-{self.files:03}.json"
            telegram.user_says(chat_id=IMPORTING, sends=create_document(name, content, "application/json"))
            self.files += 1
        elif kind == "lamp":
            telegram.user_says(f"/remember the lamp f{self.lamps} stands in the hall", chat_id=SHARING)
            self.lamps += 1
        else:
            self._share(telegram, chance)

    def press_all(self, telegram: BotApiServer, chats: list[int]) -> None:
        """Press each button that wasn't pressed yet."""
        for chat in [*chats, IMPORTING]:
            for message_id, button in _list_buttons(telegram, chat):
                if button["text"] not in (YES, IMPORT) or button["callback_data"] in self.pressed:
                    continue
                self.pressed.add(button["callback_data"])
                telegram.user_presses(button["callback_data"], message_id, chat, chat)
                self.approvals += button["text"] == YES
                self.imports += button["text"] == IMPORT

    def import_again(self, telegram: BotApiServer) -> int:
        """Import incomplete files again. Return their number."""
        found = self._count_imported()
        files = _read_rows(self.folder, "SELECT id, name FROM media")
        numbers = {int(name[len("conversations-") :].partition(".")[0]): row for row, name in files if name}
        missing = [
            number for number in numbers if sum(key.startswith(f"freight-{number}-") for key in found) < _OF_A_FILE
        ]
        for number in missing:
            telegram.user_says(f"/import_{numbers[number]}", chat_id=IMPORTING)
        return len(missing)

    def count(self, telegram: BotApiServer, given_up: set[str]) -> dict[str, list[str]]:
        """Return errors by kind."""
        imported = self._count_imported()
        whole = [
            f"freight-{f}-{c}-{m}" for f in range(self.files) for c in range(CONVERSATIONS) for m in range(MESSAGES)
        ]
        ran = collections.Counter(self.servers.list_logged("write"))
        begun = self._list_begun()
        asked = {mark for content in _read_column(self.folder, _USERS) for mark in _APPROVED.findall(content)}
        shared = {row: at is not None for row, at in _read_rows(self.folder, "SELECT id, shared_at FROM entries")}
        changes = collections.Counter(
            int(row)
            for (row,) in _read_rows(self.folder, "SELECT entry_id FROM changes WHERE operation = 'share'")
            if row is not None
        )
        unsure = sum("crashed on it twice" in message.text for message in telegram.list_sent(SHARING))
        lamps = collections.Counter(
            mark for content in _read_column(self.folder, _LIVE) for mark in _SHARED.findall(content)
        )
        wrong_shares = [f"#{row}" for row, expected in self.is_shared.items() if shared.get(row) is not expected]
        doubled_shares = [f"#{row}" for row, times in changes.items() if times > self.shares[row]]
        print(f"files: {self.files}, imports pressed: {self.imports}, tools approved: {self.approvals}")
        print(f"shared and unshared: {self.shares.total()}; calls begun before a kill and not made again: {len(begun)}")
        return {
            "imported messages that are missing": [key for key in whole if not imported[key]],
            "imported messages that stand twice": [key for key in whole if imported[key] > 1],
            "approved calls that were not made": sorted(asked - ran.keys() - begun - given_up),
            "approved calls that were made twice": [mark for mark, times in ran.items() if times > 1],
            "memories to be shared that are missing": ["f"] * max(0, self.lamps - len(lamps) - unsure),
            "memories to be shared that stand twice": [mark for mark, times in lamps.items() if times > 1],
            "shares that are not as they were left": wrong_shares[unsure:],
            "shares that were made twice": doubled_shares,
        }

    def _share(self, telegram: BotApiServer, chance: random.Random) -> None:
        entries = [
            row
            for row, content in _read_rows(self.folder, "SELECT id, content FROM entries WHERE deleted_at IS NULL")
            if _SHARED.search(content)
        ]
        if not entries:
            return
        row = chance.choice(entries)
        is_shared = not self.is_shared.get(row, False)
        telegram.user_says(f"/{'share' if is_shared else 'unshare'} #{row}", chat_id=SHARING)
        self.is_shared[row] = is_shared
        self.shares[row] += 1

    def _count_imported(self) -> collections.Counter[str]:
        contents = _read_column(self.folder, "SELECT content FROM messages WHERE content LIKE '%freight-%'")
        return collections.Counter(key for content in contents for key in _FREIGHT.findall(content))

    def _list_begun(self) -> set[str]:
        """Return the marks of turns in which a tool was not called a second time."""
        return {mark for content in _read_column(self.folder, _NOT_AGAIN) for mark in _APPROVED.findall(content)}


_OF_A_FILE = CONVERSATIONS * MESSAGES
_USERS = "SELECT content FROM messages WHERE role = 'user'"
# The result of a call that had begun before a kill, and is not repeated
_NOT_AGAIN = (
    "SELECT content FROM messages WHERE role = 'user' AND turn_id IN (SELECT turn_id FROM messages"
    " WHERE content LIKE 'not run: trial__write was run for this message before%')"
)
_LIVE = "SELECT content FROM entries WHERE deleted_at IS NULL AND kind <> 'archive'"


def _list_buttons(telegram: BotApiServer, chat: int) -> list[tuple[int, dict[str, str]]]:
    return [
        (message.message_id, button)
        for message in telegram.list_sent(chat)
        for row in (message.reply_markup or {}).get("inline_keyboard", [])
        for button in row
    ]


def _read_rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    try:
        with closing(sqlite3.connect(f"file:{folder / 'data' / 'mneme.db'}?mode=ro", uri=True, timeout=30)) as reading:
            return list(reading.execute(sql))
    except sqlite3.Error:  # There is no database yet
        return []


def _read_column(folder: Path, sql: str) -> list[str]:
    return [str(content) for (content,) in _read_rows(folder, sql)]


def _create_conversation(file: int, number: int) -> JsonObject:
    """Return a conversation in ChatGPT's export format."""
    nodes: JsonObject = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    at = 1_700_000_000.0 + (file * CONVERSATIONS + number) * 10_000
    for message in range(MESSAGES):
        node = f"m{message}"
        content = {"content_type": "text", "parts": [f"freight-{file}-{number}-{message} goes by sea"]}
        author = {"role": "assistant" if message % 2 else "user"}
        said = {"author": author, "create_time": at + message, "content": content, "recipient": "all", "metadata": {}}
        nodes[node] = {"id": node, "message": said, "parent": parent, "children": []}
        nodes[parent]["children"].append(node)
        parent = node
    ids = {"conversation_id": f"conversation-{file}-{number}", "current_node": parent}
    return {"title": "Freight", "create_time": at, "update_time": at, "mapping": nodes, **ids}
