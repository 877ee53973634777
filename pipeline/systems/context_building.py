"""AutoCompaction (18) shortens a conversation that grew too large. ContextBuilding (20) builds the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from config.texts import ngettext
from memory.buttons import Notice
from memory.log.compaction import CompactionResult, CompactionService
from memory.log.sessions import SessionService
from memory.messages import Message, Role, join_messages
from pipeline.prompt.prompt_builder import PromptBuilder
from pipeline.turn import Turn

OnCompacted = Callable[["CompactionResult"], Awaitable[None]]
"""Called after each compaction, so that the removed messages can be consolidated."""


class AutoCompaction:
    """Reads the conversation and compacts it if it exceeds the model's window or the message limit."""

    name = "AutoCompaction"

    def __init__(self, sessions: SessionService, compaction: CompactionService, on_compacted: OnCompacted) -> None:
        self._sessions = sessions
        self._compaction = compaction
        self._on_compacted = on_compacted

    async def process(self, turn: Turn) -> None:
        turn.transcript = await self._sessions.read_transcript(turn.session.id)
        model = turn.chat_model
        # This is the first step that needs the size of the window, so it asks the endpoint.
        await model.learn_facts()
        compacted = await self._compaction.compact_if_needed(
            turn.session, turn.transcript, model.name, model.window.max_input_tokens
        )
        if compacted is None:
            return
        turn.transcript = await self._sessions.read_transcript(turn.session.id)
        await self._on_compacted(compacted)
        if not compacted.summarized:
            turn.notices.append(Notice(_no_summary_text(compacted)))


def _no_summary_text(compacted: CompactionResult) -> str:
    if compacted.archive_name is None:
        return ngettext(
            "The conversation is long and couldn't be summarised: I can no longer see {n} earlier message.",
            "The conversation is long and couldn't be summarised: I can no longer see {n} earlier messages.",
            compacted.removed,
        )
    return ngettext(
        "The conversation is long and couldn't be summarised: I can no longer see {n} earlier message, which is saved"
        " as {name}.",
        "The conversation is long and couldn't be summarised: I can no longer see {n} earlier messages, which are"
        " saved as {name}.",
        compacted.removed,
        name=compacted.archive_name,
    )


class ContextBuilding:
    """Builds the request: one system message, the conversation since the newest marker, and the new messages.

    Everything that changes with every message is appended to the newest one, which keeps the provider's prompt cache
    warm.
    """

    name = "ContextBuilding"

    def __init__(self, sessions: SessionService, builder: PromptBuilder) -> None:
        self._sessions = sessions
        self._builder = builder

    async def process(self, turn: Turn) -> None:
        turn.budget = budget = await self._builder.budget(turn.session.owner, turn.chat_model)
        if turn.transcript is None:
            turn.transcript = await self._sessions.read_transcript(turn.session.id)
        draft = self._builder.draft(turn.session, turn.transcript, budget, turn.replaces_turn)
        draft.new_messages = turn.user_messages
        # Search memory for the user's own words, not for the text of an attached document.
        draft.question = join_messages(
            [m for m in turn.user_messages if not m.is_attachment] or turn.user_messages
        ).text
        draft.quoted = [arrival.quoted for arrival in turn.arrivals if arrival.quoted is not None]
        draft.task = turn.task
        prompt = await self._builder.build(draft)
        turn.context = prompt.messages
        turn.recalled_messages = tuple(
            Message(Role.TOOL, piece.text, turn.started_at, provenance=piece.provenance.stored)
            for piece in prompt.passages
        )
        turn.recalled_text = prompt.recalled_text
        turn.notices += [Notice(text) for text in draft.notices]
        turn.activated = tuple(draft.activated)
        turn.recalled, turn.recalled_notes = prompt.added.messages, prompt.added.entries
