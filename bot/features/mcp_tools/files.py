"""Files in the results of MCP tools: pictures, recordings and embedded resources."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING
from urllib.parse import unquote

from memory.messages import Document
from pipeline.tools.turn_files import MAX_FILE_BYTES, MAX_HELD_FILES, create_document

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

_MAX_BASE64_CHARS = MAX_FILE_BYTES * 2
"""Maximum length of a text that is decoded. Base64 is a third longer than its bytes, so the result may be too large."""


def read_files(result: CallToolResult, tool: str) -> tuple[Document, ...]:
    """Return the files in a result that may be sent. A resource is named after its address, others after the tool."""
    if result.is_error:
        return ()
    found = (_read_file(block, tool) for block in result.content[:MAX_HELD_FILES])
    return tuple(document for document in found if document is not None)


def _read_file(block: ContentBlock, tool: str) -> Document | None:
    match block.type:
        case "image" | "audio":
            content = _decode(block.data)
            return None if content is None else create_document(content, block.mime_type, tool)
        case "resource":
            resource = block.resource
            text = getattr(resource, "text", None)
            content = (
                text.encode("utf-8", "replace") if isinstance(text, str) else _decode(getattr(resource, "blob", ""))
            )
            return None if content is None else create_document(content, resource.mime_type, unquote(str(resource.uri)))
        case _:
            return None


def _decode(data: str) -> bytes | None:
    if len(data) > _MAX_BASE64_CHARS:
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
