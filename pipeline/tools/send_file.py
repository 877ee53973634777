"""The tool `send_file`, which sends a file that another tool has made in the same turn."""

from __future__ import annotations

from memory.messages import Passage, Provenance
from pipeline.tools.toolbox import Tool, ToolContext, ToolFailed
from pipeline.tools.turn_files import MAX_SENT_FILES


async def send_file(context: ToolContext, file: str) -> Passage:
    """Send the user a file or picture that a tool returned in this turn, below your answer. `file` is its id: f1."""
    files = context.files
    if files is None or not files.can_send:
        raise ToolFailed("files can't be sent in this chat: say so")
    found = files.find(file.strip())
    if found is None:
        there = ", ".join(files.ids) or "none"
        raise ToolFailed(f"no tool has returned a file with that id in this turn; there are: {there}")
    if found not in files.sent:
        if len(files.sent) >= MAX_SENT_FILES:
            raise ToolFailed(f"an answer can have at most {MAX_SENT_FILES} files")
        files.sent.append(found)
    return Passage(f"{found.document.name} is sent with your answer", Provenance.FOREIGN)


def create_send_file() -> Tool:
    return Tool(send_file)
