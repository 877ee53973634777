"""An MCP server that lists valid tools and tools that break the protocol: `python mcp_raw.py`."""

from __future__ import annotations

import json
import sys

GOOD = {
    "name": "good",
    "description": "Look.",
    "inputSchema": {"type": "object", "properties": {"at": {"type": "array"}}},
    "annotations": {"readOnlyHint": True},
}
TOOLS = [
    {"name": "no_schema"},
    {"description": "has no name", "inputSchema": {"type": "object"}},
    {"name": "text", "inputSchema": "none"},
    {"name": "number", "inputSchema": {"type": "number"}},
    GOOD,
    {"name": "untyped", "description": "Look.", "inputSchema": {"properties": {}}},
    None,
]


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            },
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": "seen"}]},
        }
        if "id" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in results:
            answer["result"] = results[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
