"""AutoCompaction (18) shortens a conversation that grew too large; ContextBuilding (20) makes the request.

The order of its parts keeps the provider's prompt cache warm.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from config.texts import ngettext
from memory.buttons import Notice
from memory.messages import Message, Role, in_one, worst
from pipeline.prompt.prompt_builder import with_summary_of_others
from pipeline.prompt.prompts import unfenced

if TYPE_CHECKING:
    from memory.log.compaction import Compacted, CompactionService
    from memory.log.sessions import SessionService
    from pipeline.prompt.prompt_builder import PromptBuilder
    from pipeline.turn import Turn

OnCompacted = Callable[["Compacted"], Awaitable[None]]
"""Is told of each compaction, so that what left the model's view is consolidated."""


class AutoCompaction:
    """Reads the conversation, and compacts it when the model's window or the message window is outgrown (S0, S2)."""

    name = "AutoCompaction"

    def __init__(self, sessions: SessionService, compaction: CompactionService, on_compacted: OnCompacted) -> None:
        self._sessions = sessions
        self._compaction = compaction
        self._on_compacted = on_compacted

    async def process(self, turn: Turn) -> None:
        """Compact if needed; the user is told when no summary could be made."""
        turn.transcript = await self._sessions.transcript(turn.session.id)
        model = turn.talking
        # the first step that looks at the window, so it asks the endpoint for it
        await model.get_to_know()
        done = await self._compaction.compact_if_needed(
            turn.session, turn.transcript, model.name, model.window.max_input_tokens
        )
        if done is None:
            return
        turn.transcript = await self._sessions.transcript(turn.session.id)
        await self._on_compacted(done)
        if not done.summarized:
            turn.notices.append(Notice(_without_summary(done)))


def _without_summary(done: Compacted) -> str:
    if done.archive_name is None:
        return ngettext(
            "The conversation grew long and no summary could be made: {n} earlier message left my view.",
            "The conversation grew long and no summary could be made: {n} earlier messages left my view.",
            done.removed,
        )
    return ngettext(
        "The conversation grew long and no summary could be made: {n} earlier message left my view and"
        " is kept as {name}.",
        "The conversation grew long and no summary could be made: {n} earlier messages left my view and"
        " are kept as {name}.",
        done.removed,
        name=done.archive_name,
    )


class ContextBuilding:
    """Puts the parts together: one system message, the conversation from the newest marker on, the new messages.

    What changes with every message stands at the end of the newest one.
    """

    name = "ContextBuilding"

    def __init__(self, sessions: SessionService, builder: PromptBuilder) -> None:
        self._sessions = sessions
        self._builder = builder

    async def process(self, turn: Turn) -> None:
        turn.budget = budget = await self._builder.budget(turn.session.owner, turn.talking)
        if turn.transcript is None:
            turn.transcript = await self._sessions.transcript(turn.session.id)
        transcript = turn.transcript
        history = [m for m in transcript.messages if m.turn_id is None or m.turn_id != turn.replaces_turn]
        if (most := self._builder.most_messages) is not None:
            first = next((at for at, m in enumerate(history[-most:]) if m.role is Role.USER), most)
            history = history[-most:][first:]
            transcript = replace(transcript, messages=history)
        visible = replace(transcript, messages=history)
        # what is looked up is what the user says, and not what a document says
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
        spoken = [_with_origin(budget.capped(m, budget.message)) for m in (*history, *turn.user_messages)]
        spoken = with_summary_of_others(spoken, visible, budget)
        turn.found = tuple(
            Message(Role.TOOL, piece.text, turn.started_at, provenance=piece.provenance.kept) for piece in volatile.read
        )
        turn.recalled_text = "\n".join([*volatile.lines, volatile.text.text])
        turn.context = self._builder.request(stable, volatile, spoken)
        turn.notices += [Notice(stable.unreadable)] if stable.unreadable else []
        turn.activated = (*stable.baseline, *stable.unasked, *volatile.activated)
        turn.recalled = volatile.text.messages
        turn.recalled_notes = volatile.text.entries


def _with_origin(message: Message) -> Message:
    """`message` with what the model must know of where it came from: the speaker in a group, a forward."""
    if message.role is not Role.USER:
        return message  # a mark in its own answers would teach the model to write marks
    speaker = f"{message.speaker}:" if message.speaker else ""
    text = f"{speaker}{worst([message.provenance]).mark} {unfenced(message.content)}"
    return replace(message, content=text.removeprefix(" "))
