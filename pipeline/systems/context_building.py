"""AutoCompaction (18) shortens a conversation that grew too large. ContextBuilding (20) builds the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from config.texts import ngettext
from memory.buttons import Notice
from memory.log.compaction import Compacted, CompactionService
from memory.log.sessions import SessionService
from memory.messages import Message, Role, in_one, worst
from pipeline.prompt.prompt_builder import PromptBuilder, with_summary_of_others
from pipeline.prompt.prompts import escape_fence
from pipeline.turn import Turn

OnCompacted = Callable[["Compacted"], Awaitable[None]]
"""Called after each compaction, so that the removed messages can be consolidated."""


class AutoCompaction:
    """Reads the conversation and compacts it if it exceeds the model's window or the message limit."""

    name = "AutoCompaction"

    def __init__(self, sessions: SessionService, compaction: CompactionService, on_compacted: OnCompacted) -> None:
        self._sessions = sessions
        self._compaction = compaction
        self._on_compacted = on_compacted

    async def process(self, turn: Turn) -> None:
        turn.transcript = await self._sessions.transcript(turn.session.id)
        model = turn.chat_model
        # This is the first step that needs the size of the window, so it asks the endpoint.
        await model.get_to_know()
        compacted = await self._compaction.compact_if_needed(
            turn.session, turn.transcript, model.name, model.window.max_input_tokens
        )
        if compacted is None:
            return
        turn.transcript = await self._sessions.transcript(turn.session.id)
        await self._on_compacted(compacted)
        if not compacted.summarized:
            turn.notices.append(Notice(_no_summary_text(compacted)))


def _no_summary_text(compacted: Compacted) -> str:
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
            turn.transcript = await self._sessions.transcript(turn.session.id)
        transcript = turn.transcript
        history = [m for m in transcript.messages if m.turn_id is None or m.turn_id != turn.replaces_turn]
        if (limit := self._builder.max_messages) is not None:
            first = next((at for at, m in enumerate(history[-limit:]) if m.role is Role.USER), limit)
            history = history[-limit:][first:]
            transcript = replace(transcript, messages=history)
        visible = replace(transcript, messages=history)
        # Search memory for the user's own words, not for the text of an attached document.
        question = in_one([m for m in turn.user_messages if not m.is_attachment] or turn.user_messages).text
        lookup = await self._builder.find(turn.session, question, transcript)
        stable = await self._builder.stable(turn.session, visible, budget, lookup)
        quoted = [arrival.quoted for arrival in turn.arrivals if arrival.quoted is not None]
        photos = any(message.images for message in turn.user_messages)
        volatile = await self._builder.volatile(
            turn.session,
            question,
            lookup,
            transcript,
            stable,
            budget,
            quoted,
            turn.user_messages,
            photos=photos,
            task=turn.task,
        )
        spoken = [_with_origin(budget.cap(m, budget.message)) for m in (*history, *turn.user_messages)]
        spoken = with_summary_of_others(spoken, visible, budget)
        turn.recalled_messages = tuple(
            Message(Role.TOOL, piece.text, turn.started_at, provenance=piece.provenance.kept)
            for piece in volatile.passages
        )
        turn.recalled_text = "\n".join([*volatile.lines, volatile.text.text])
        turn.context = self._builder.request(stable, volatile, spoken)
        turn.notices += [Notice(stable.unreadable)] if stable.unreadable else []
        turn.activated = (*stable.baseline, *stable.unasked, *volatile.activated)
        turn.recalled = volatile.text.messages
        turn.recalled_notes = volatile.text.entries


def _with_origin(message: Message) -> Message:
    if message.role is not Role.USER:
        return message  # Marks in its own answers would teach the model to write marks.
    speaker = f"{message.speaker}:" if message.speaker else ""
    text = f"{speaker}{worst([message.provenance]).mark} {escape_fence(message.content)}"
    return replace(message, content=text.removeprefix(" "))
