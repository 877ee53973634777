"""Files that attack their reader: nested deeply, endless in one place, or far larger than they look."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Mapping

MEGABYTE = 1_000_000


def create_zip(files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


def create_nested(depth: int) -> bytes:
    return b"[" * depth


def create_long_path(keys: int, key_bytes: int) -> bytes:
    """Nested objects with long keys, and many short members in the innermost."""
    opening = b"".join(b'{"%s":' % (b"k" * key_bytes) for _ in range(keys))
    return opening + b"{" + b'"a":1,' * 100_000


@functools.cache
def create_hostile_imports() -> dict[str, bytes]:
    """Return hostile files by name. Each is small enough to be sent in a chat, and took minutes or gigabytes once."""
    message = {"type": "message", "date_unixtime": "1678784400", "from": "Ann", "from_id": "user1"}
    chat = b'{"id":1,"messages":[%s'
    said = json.dumps(message | {"text": "hello"}).encode()
    huge = json.dumps(message | {"text": "x"}).encode()[:-2]
    chatgpt_start = b'[{"create_time":1678784400,"mapping":{"m":{"message":{"author":{"role":"user"},"content":'
    mem0 = b'{"results":[{"memory":"%s"}]}'
    page = b'<!DOCTYPE html><html><body><div class="page_body chat_page"><div class="message default">'
    return {
        "nested.html": page + b"<b>" * MEGABYTE,
        "formatted.html": page + b"".join(b"<b a%d>" % number for number in range(1_000)) + b"<p>x</p>" * 200_000,
        "nested.json": create_nested(100_000),
        "nested_objects.json": b'{"a":' * 100_000,
        "nested_late.json": chat % said + b"," + create_nested(100_000),
        "nested_text.json": chat % (b'{"type":"message","text":' + create_nested(50_000)),
        "long_key.json": b'{"%s":1}' % (b"k" * MEGABYTE),
        "long_keys.json": create_long_path(60, 16_000),
        "long_path.json": create_long_path(60, 1_900),
        "long_number.json": b'{"id":%s}' % (b"9" * MEGABYTE),
        "long_id.json": b'{"id":%s,"messages":[%s]}' % (b"9" * 300, said),
        "long_string.zip": create_zip({"result.json": b'{"id":"' + b"x" * 20 * MEGABYTE}),
        "escaped_string.zip": create_zip({"result.json": b'{"id":"' + b'\\"' * 10 * MEGABYTE}),
        "many_nested.zip": create_zip({f"{number}.json": create_nested(100_000) for number in range(50)}),
        "many_keys.zip": create_zip({f"{n}.json": create_long_path(60, 1_900) for n in range(20)}),
        "huge_message.zip": create_zip(
            {"result.json": chat % huge + b'"' + b",0:" * 10 + b"[],".join([b""] * 5_000_000)}
        ),
        "huge_conversation.zip": create_zip({"c.json": chatgpt_start + b'{"parts":[' + b'"",' * 6 * MEGABYTE}),
        "wide_conversation.zip": create_zip({"c.json": chatgpt_start + b'{"parts":[' + b'{"a":{}},' * 2 * MEGABYTE}),
        "far_dates.json": chat % json.dumps(message | {"text": "x", "date_unixtime": "9" * 30}).encode() + b"]}",
        "odd_metadata.json": chatgpt_start + b'{"parts":["a"]},"metadata":[1]}}}}]',
        "citations.json": chatgpt_start + b'{"content_type":"text","parts":["%s"]}}}}}]' % (b"\\ue200" * 300_000),
        "lone_surrogates.json": mem0 % (b"half \\ud83d of it \\u0000"),
        "tags.json": json.dumps(
            [
                {"header": "Gemini", "products": [], "time": "2026-01-01T00:00:00Z", "title": "a"}
                | {"safeHtmlItem": [{"html": "<" * MEGABYTE}]}
            ]
        ).encode(),
        "comments.md": b"<!--" * MEGABYTE,
        "observed.md": b"<!-- observed: 2020-01-01 | status: active " * 90_000,
        "paragraph.md": b"[2020-01-01] - a\n[2020-01-01] - b\n" + b"a\n" * 1_900_000,
        "notes.md": b"<!-- observed: 2020-01-01 -->\n- a\n" + b"<!-- " * 200_000 + b"a\n" * 300_000,
        "section.md": "a\n§\n".encode() + b"a\n" * 1_900_000,
        "spaces.txt": b" " * 3 * MEGABYTE,
        "list_spaces.txt": b"- " + b" " * 200_000 + b"\n",
        "no_line_end.txt": b"14.03.23, 09:00 - Ann: " + b"x" * 19 * MEGABYTE,
        "long_chat.zip": create_zip({"c.txt": b"14.03.23, 09:00 - Ann: x\n" + b"x xx xxx\n" * 2 * MEGABYTE}),
        "omitted.txt": b"14.03.23, 09:00 - Ann: <" + b"omitted" * 40_000,
        "passwords.txt": b"14.03.23, 09:00 - Ann: " + b"my password is " * 20_000,
        "long_line.jsonl": b'{"type":"entity","name":"a","observations":[' + b'"a",' * 4 * MEGABYTE,
        "deep_line.jsonl": b'{"type":"entity","name":"a","observations":["b"]}\n' + create_nested(200_000),
        "list_memory.jsonl": b'{"type":"entity","name":"a","observations":[' + b"[]," * 40_000 + b'"a"]}\n',
        "long_name.jsonl": json.dumps({"type": "entity", "name": "n" * 90_000, "observations": [""] * 40_000}).encode(),
        "many_entries.zip": create_zip({}).replace(b"PK\x05\x06", b"PK\x01\x02" * 100_000 + b"PK\x05\x06"),
        "lzma.zip": create_zip({"result.json": b"[" * 1_000}, zipfile.ZIP_LZMA),
        "bomb.zip": create_zip({"result.json": b"\0" * 100 * MEGABYTE}),
        "garbage.json": bytes(range(256)) * 1_000,
        "empty.json": b"",
    }
