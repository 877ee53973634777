"""A server of tools that attacks the program that calls it: `python hostile_mcp.py [PORT [EVENTS]]`.

Without a port it speaks over standard input and output. With one it answers over HTTP, by JSON or by events, and prints
the port, since 0 means any free one. Its only tool is called with the kind of the attack.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PIECE = b"x" * 1_000_000
ENDLESS = 1_000
"""Pieces of an answer without an end."""
TOOL = {
    "name": "attack",
    "description": "Attack, half an emoji: \ud83d",
    "inputSchema": {"type": "object", "properties": {"kind": {"type": "string", "description": "\ud83d"}}},
    "annotations": {"readOnlyHint": True},
}


def answer_to(message: dict[str, Any]) -> Iterator[bytes]:
    """Yield the pieces of the answer, without the end of its line."""
    number, method = json.dumps(message.get("id")).encode(), message.get("method")
    start = b'{"jsonrpc":"2.0","id":%s,"result":' % number
    if method == "initialize":
        result: object = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "ping":
        result = {}
    elif method == "tools/call":
        yield from attack(message["params"]["arguments"]["kind"], start)
        return
    else:
        yield b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}' % number
        return
    yield start + json.dumps(result).encode() + b"}"


def attack(kind: str, start: bytes) -> Iterator[bytes]:
    text = start + b'{"content":[{"type":"text","text":"'
    match kind:
        case "endless":
            yield text
            for _ in range(ENDLESS):
                yield PIECE
        case "flood":
            params = {"level": "info", "data": "x" * 1_000_000}
            notification = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
            line = json.dumps(notification).encode() + b"\n"
            for _ in range(ENDLESS):
                yield line
        case "half":
            yield text + b'half \\ud83d, whole \\ud83d\\ude00, \\\\ud83d"}]}}'
        case "nested":
            yield start + b'{"content":[],"structuredContent":{"a":' + b"[" * 1_000_000
        case "items":
            yield start + b'{"content":[],"structuredContent":{"a":[' + b"[]," * 2_000_000 + b"[]]}}}"
        case _:
            yield text + kind.encode() + b'"}]}}'


def serve_lines() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            for piece in answer_to(message):
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()


class Handler(BaseHTTPRequestHandler):
    by_events = False

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200 if "id" in message else 202)
        self.send_header("content-type", "text/event-stream" if self.by_events else "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        if "id" not in message:
            return
        write: Callable[[bytes], object] = self.wfile.write
        try:
            write(b"data: " if self.by_events else b"")
            for piece in answer_to(message):
                write(piece.replace(b"\n", b"\n\ndata: ") if self.by_events else piece)
            write(b"\n\n" if self.by_events else b"")
        except OSError:  # the client has had enough
            return

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Handler.by_events = len(sys.argv) > 2
        server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()
    else:
        serve_lines()
