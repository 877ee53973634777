"""Exports of other programs in their formats. Each message or memory contains its number."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from tests.support.bot_api.params import JsonObject

FIRST = datetime(2023, 3, 14, 9, 0, tzinfo=UTC)
PER_CONVERSATION = 10


def create_text(number: int) -> str:
    """Return the text of a message."""
    return f"Message number{number} about the ferry to Odesa"


def create_moment(number: int) -> datetime:
    """Return the time of a message."""
    return FIRST + timedelta(minutes=number)


def write_zip(path: Path, files: Mapping[str, object]) -> Path:
    """Write a zip file of texts or of values as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


def write_folder(path: Path, files: Mapping[str, str]) -> Path:
    """Write a folder of texts."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content, encoding="utf-8")
    return path


def create_chatgpt_conversation(first: int, count: int) -> JsonObject:
    """Return a conversation with an abandoned branch, a hidden message and a tool message."""
    nodes: JsonObject = {"root": {"id": "root", "message": None, "parent": None, "children": ["hidden"]}}
    chain = ["root", "hidden", *(f"m{number}" for number in range(first, first + count))]
    shown = {f"m{number}": number for number in range(first, first + count)}
    for parent, node in pairwise(chain):
        number = shown.get(node)
        message = {
            "author": {"role": "system" if number is None else "assistant" if number % 2 else "user"},
            "create_time": None if number is None else create_moment(number).timestamp(),
            "content": {"content_type": "text", "parts": ["" if number is None else create_text(number)]},
            "recipient": "all",
            "metadata": {"is_visually_hidden_from_conversation": number is None},
        }
        nodes[node] = {"id": node, "message": message, "parent": parent, "children": []}
        nodes[parent]["children"].append(node)
    other = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["another branch"]}}
    nodes["other"] = {"id": "other", "message": other | {"create_time": 1.0}, "parent": "hidden", "children": []}
    at = create_moment(first).timestamp()
    ids = {"conversation_id": f"conversation-{first}", "current_node": chain[-1]}
    return {"title": "Ferries", "create_time": at, "update_time": at, "mapping": nodes, **ids}


def write_chatgpt(path: Path, messages: int, name: str = "chatgpt.zip") -> Path:
    """Write ChatGPT's zip file, with the conversations in two parts."""
    starts = range(0, messages, PER_CONVERSATION)
    conversations = [create_chatgpt_conversation(at, min(PER_CONVERSATION, messages - at)) for at in starts]
    half = len(conversations) // 2
    return write_zip(
        path / name,
        {
            "conversations-000.json": conversations[:half],
            "conversations-001.json": conversations[half:],
            "user.json": {"email": "ann@example.org", "phone_number": "+380441234567"},
            "chat.html": "<html></html>",
        },
    )


def _create_claude_conversations(messages: int) -> list[JsonObject]:
    return [
        {
            "uuid": f"uuid-{first}",
            "name": "Ferries",
            "created_at": create_moment(first).isoformat(),
            "chat_messages": [
                {
                    "uuid": f"m{number}",
                    "sender": "assistant" if number % 2 else "human",
                    "created_at": create_moment(number).isoformat().replace("+00:00", "Z"),
                    "text": "",
                    "content": [
                        {"type": "thinking", "thinking": "what is said to nobody"},
                        {"type": "text", "text": create_text(number)},
                    ],
                }
                for number in range(first, min(first + PER_CONVERSATION, messages))
            ],
        }
        for first in range(0, messages, PER_CONVERSATION)
    ]


def write_claude(path: Path, messages: int) -> Path:
    """Write Claude's former zip file, with its memory of the person."""
    memories = [
        {"conversations_memory": "**Work**\n\nAnn repairs clocks.", "project_memories": {}, "account_uuid": "a"}
    ]
    return write_zip(
        path / "data-2026-batch-0000.zip",
        {
            "conversations.json": _create_claude_conversations(messages),
            "memories.json": memories,
            "users.json": [{"uuid": "a", "email_address": "ann@example.org"}],
        },
    )


def write_claude_parts(path: Path, messages: int) -> Path:
    """Write Claude's present export: a folder with a manifest and zip files."""
    folder = path / "claude"
    folder.mkdir()
    half = messages // 2 // PER_CONVERSATION
    conversations = _create_claude_conversations(messages)
    write_zip(folder / "conversations-000.zip", {"conversations.json": conversations[:half]})
    write_zip(folder / "conversations-001.zip", {"conversations.json": conversations[half:]})
    memory = {
        "account_uuid": "a",
        "conversations_memory": "Ann repairs clocks.",
        "project_memories": {},
        "memory_files": [{"path": "/a.md", "content": "- Ann has a boat.", "updated_at": "2026-05-01T10:00:00Z"}],
    }
    write_zip(folder / "memories-000.zip", {"memories/a.json": memory})
    write_zip(folder / "light_metadata-000.zip", {"login_history.json": [{"ip": "203.0.113.7"}]})
    (folder / "manifest-1.json").write_text('{"created_at": "2026-09-01", "version": "1.0", "data_files": []}')
    return folder


def write_gemini(path: Path, messages: int) -> Path:
    """Write Takeout's export of Gemini: prompts with answers, and an entry of another product."""
    records = [
        {
            "header": "Gemini Apps",
            "title": f"Prompted {create_text(number)}",
            "time": create_moment(number).isoformat().replace("+00:00", "Z"),
            "products": ["Gemini Apps"],
            "safeHtmlItem": [{"html": f"<p>{create_text(number + 1)} &amp; back</p>"}],
        }
        for number in range(0, messages, 2)
    ]
    other = {"header": "Search", "title": "Searched for x", "time": "2023-01-01T00:00:00Z", "products": ["Search"]}
    return write_zip(path / "takeout.zip", {"Takeout/My Activity/Gemini Apps/MyActivity.json": [*records, other]})


def write_telegram(path: Path, messages: int) -> Path:
    """Write Telegram Desktop's export of one chat."""
    service = {"id": 0, "type": "service", "date_unixtime": "1678784400", "actor": "Ann", "text": ""}
    said = [
        {
            "id": number + 1,
            "type": "message",
            "date": "2023-03-14T09:00:00",
            "date_unixtime": str(int(create_moment(number).timestamp())),
            "from": "Bob" if number % 2 else "Ann",
            "from_id": f"user{number % 2}",
            **(
                {"rich_message": {"blocks": [{"type": "paragraph", "text": [create_text(number)]}]}}
                if number % 3
                else {"text": ["", {"type": "bold", "text": create_text(number)}]}
            ),
        }
        for number in range(messages)
    ]
    file = path / "result.json"
    file.write_text(
        json.dumps({"name": "Bob", "type": "personal_chat", "id": 77, "messages": [service, *said]}), encoding="utf-8"
    )
    return file


def write_telegram_account(path: Path, messages: int) -> Path:
    """Write Telegram Desktop's export of all chats, here two."""
    chats = []
    for chat, share in ((1, range(messages // 2)), (2, range(messages // 2, messages))):
        said = [
            {
                "id": number,
                "type": "message",
                "date_unixtime": str(int(create_moment(number).timestamp())),
                "from": "Ann",
                "from_id": "user1",
                "text": create_text(number),
            }
            for number in share
        ]
        chats.append({"name": "Bob", "type": "personal_chat", "id": chat, "messages": said})
    account = {"user_id": 1, "phone_number": "+380441234567"}
    file = path / "result.json"
    file.write_text(json.dumps({"personal_information": account, "chats": {"list": chats}}), encoding="utf-8")
    return file


def write_whatsapp(path: Path, messages: int) -> Path:
    """Write a chat as an Android phone in Germany exports it."""
    lines = ["14.03.23, 08:59 - Nachrichten sind Ende-zu-Ende-verschlüsselt."]
    for number in range(messages):
        at, name = create_moment(number), "Bob" if number % 2 else "Ann"
        lines.append(f"{at:%d.%m.%y, %H:%M} - {name}: {create_text(number)}\nand a second line")
    lines.append(f"{create_moment(messages):%d.%m.%y, %H:%M} - Ann: <Medien ausgeschlossen>")
    file = path / "WhatsApp Chat mit Bob.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_mem0(path: Path, memories: int) -> Path:
    """Write mem0's export."""
    results = [
        {"id": str(number), "memory": create_text(number), "created_at": "2025-01-02T03:04:05-07:00", "user_id": "ann"}
        for number in range(memories)
    ]
    file = path / "memories.json"
    file.write_text(json.dumps({"results": results}), encoding="utf-8")
    return file


def write_mcp_memory(path: Path, memories: int) -> Path:
    """Write the file of the MCP memory server."""
    rows: list[JsonObject] = [
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": [create_text(number)]}
        for number in range(memories - 1)
    ]
    rows.append({"type": "relation", "from": "Ann", "to": "Odesa", "relationType": "lives in"})
    file = path / "memory.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def write_pasted(path: Path, memories: int) -> Path:
    """Write a list of memories as an assistant prints it on request."""
    entries = [f"[2025-0{1 + number % 9}-10] - {create_text(number)}" for number in range(memories - 1)]
    lines = ["```", "Identity", *entries, "[unknown] - Ann has a boat.", "```"]
    file = path / "list.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def write_openclaw(path: Path, memories: int) -> Path:
    """Write OpenClaw's workspace."""
    directives = "".join(
        f"<!-- observed: 2026-05-01 | status: active -->\n- {create_text(number)}\n" for number in range(memories - 1)
    )
    gone = "<!-- observed: 2026-04-01 | status: superseded -->\n- Ann has a car.\n"
    files = {
        "USER.md": f"# User\n\n{gone}{directives}",
        "memory/2026-06-02-boat.md": "# Day\n\nAnn bought a boat.\n",
        "DREAMS.md": "Sheep.\n",
    }
    return write_folder(path / "openclaw", files)


def write_nanobot(path: Path, memories: int) -> Path:
    """Write nanobot's workspace."""
    history = "".join(
        json.dumps({"cursor": number, "timestamp": "2026-05-01 10:00", "content": create_text(number)}) + "\n"
        for number in range(memories - 1)
    )
    return write_folder(path / "nanobot", {"USER.md": "- Ann has a boat.\n", "memory/history.jsonl": history})


def write_hermes(path: Path, memories: int) -> Path:
    """Write Hermes' memories."""
    entries = "\n§\n".join(create_text(number) for number in range(memories))
    return write_folder(path / "hermes", {"memories/MEMORY.md": entries})


def write_markdown(path: Path, memories: int) -> Path:
    """Write a folder of notes."""
    items = "".join(f"- [x] {create_text(number)}\n" for number in range(memories - 1))
    note = f"---\ntitle: x\n---\n# Ann\n\n{items}\n```\ncode\n```\nAnn has\na boat.\n"
    return write_folder(path / "notes", {"ann.md": note})


CONVERSATIONS: Mapping[str, tuple[str, Callable[[Path, int], Path]]] = {
    "chatgpt": ("ChatGPT", write_chatgpt),
    "claude": ("Claude", write_claude),
    "claude-parts": ("Claude", write_claude_parts),
    "gemini": ("Gemini", write_gemini),
    "telegram": ("Telegram", write_telegram),
    "telegram-account": ("Telegram", write_telegram_account),
    "whatsapp": ("WhatsApp", write_whatsapp),
}
"""Exports with conversations, by name: the program, and the function that writes a file."""
MEMORIES: Mapping[str, tuple[str, Callable[[Path, int], Path]]] = {
    "mem0": ("mem0", write_mem0),
    "mcp-memory": ("MCP memory", write_mcp_memory),
    "list": ("a list", write_pasted),
    "openclaw": ("OpenClaw", write_openclaw),
    "nanobot": ("nanobot", write_nanobot),
    "hermes": ("Hermes", write_hermes),
    "markdown": ("Markdown", write_markdown),
}
"""Exports with memories, by name: the program, and the function that writes a file."""
