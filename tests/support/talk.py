"""Helpers for tests of conversations: messages in one line each, and a store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from bot.kernel import App
from memory.clock import Clock, from_text
from memory.files.markdown import MarkdownFiles
from memory.ledger.entries import EntryStore
from memory.ledger.ledger import Ledger
from memory.ledger.page import appending, format_line
from memory.ledger.undo_outcomes import UndoResult
from memory.log.sessions import Address, Marker, Session, SessionService, insert_marker
from memory.log.turn_log import FinishedTurn, Outcome, TurnLog
from memory.messages import Message, Provenance, Role, ToolCall
from memory.store.button_rows import OutgoingReply
from memory.store.database import Database
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation
from tests.support.fakes import FakeClock

UTC_ZONE = ZoneInfo("UTC")


def in_utc(_whose: str) -> ZoneInfo:
    """Return UTC for every chat."""
    return UTC_ZONE


NOON = datetime(2026, 2, 7, 12, 0, tzinfo=UTC)


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text, NOON)


def user(text: str, at: datetime = NOON, turn: int | None = None) -> Message:
    return Message(Role.USER, text, at, provenance=Provenance.TYPED, turn_id=turn)


def assistant(text: str, at: datetime = NOON, turn: int | None = None) -> Message:
    return Message(Role.ASSISTANT, text, at, turn_id=turn)


def calls(*ids: str) -> Message:
    return Message(Role.ASSISTANT, "", NOON, tool_calls=tuple(ToolCall(i, "memory_file", '{"a": 1}') for i in ids))


def result(of: str, text: str = "done") -> Message:
    return Message(Role.TOOL, text, NOON, speaker="memory_file", tool_call_id=of)


def create_ledger(database: Database, clock: Clock, files: MarkdownFiles | None = None) -> Ledger:
    """Return the ledger of a database. By default its Markdown files are next to the database."""
    files = files or MarkdownFiles(database.path.parent / "memory", in_utc, recent_days=7, max_memory_size=8192)
    return Ledger(database, files, clock, in_utc)


async def note_down(app: App, text: str, owner: str = "console:local") -> Entry:
    """Store a note with a line in MEMORY.md."""
    line = format_line(text)
    async with app.memory.ledger.change(owner, Operation.LEARN, Author.USER) as change:
        entry = await change.add(NewEntry(text, stem=Kind.NOTE, kind=Kind.NOTE))
        await change.edit_file(appending(line))
        await change.record_line(entry, line)
    return entry


@dataclass(frozen=True, slots=True)
class Store:
    """A database with the services of conversations."""

    database: Database
    clock: FakeClock
    sessions: SessionService
    turns: TurnLog
    ledger: Ledger
    entries: EntryStore

    @classmethod
    def create(cls, database: Database, clock: FakeClock, *, shared_owner: bool = False) -> Store:
        """Create the services on an open database, as at a start of the program."""
        sessions = SessionService(database, clock, shared_owner=shared_owner)
        ledger = create_ledger(database, clock)
        return cls(database, clock, sessions, TurnLog(database, clock), ledger, EntryStore(database, ledger))

    async def session(self, chat: str = "12345") -> Session:
        """Return the session of a Telegram chat."""
        return await self.sessions.get_or_create(Address("telegram", chat))

    async def commit_turn(
        self,
        session: Session,
        *messages: Message,
        outcome: Outcome = Outcome.ANSWERED,
        replaces: int | None = None,
        inbox: tuple[int, ...] = (),
        reply: OutgoingReply | None = None,
    ) -> int:
        """Commit a finished turn and return its id."""
        return await self.turns.commit(
            FinishedTurn(
                session.id,
                outcome,
                list(messages),
                self.clock(),
                replaces_turn=replaces,
                inbox_ids=inbox,
                reply=reply,
            )
        )

    async def commit_exchange(self, session: Session, asked: str, answered: str) -> int:
        """Commit a turn of a question and its answer and return its id."""
        return await self.commit_turn(session, user(asked, self.clock()), assistant(answered, self.clock()))

    async def list_visible(self, session: Session) -> list[str]:
        """Return the messages of the current conversation that the model sees."""
        return [message.content for message in (await self.sessions.read_transcript(session.id)).messages]

    async def mark(self, conversation_id: int, marker: Marker) -> None:
        """Record a compaction."""
        async with self.database.transaction() as connection:
            await insert_marker(connection, conversation_id, marker)

    async def list_markers(self, session: Session) -> list[Marker]:
        """Return the markers of the current conversation, oldest first."""
        rows = await self.database.rows(
            "SELECT m.archive_name, m.archive_id, m.archived_at, m.first_kept_message_id FROM markers m"
            " JOIN conversations c ON c.id = m.conversation_id WHERE c.session_id = ? AND c.ended_at IS NULL"
            " ORDER BY m.id",
            (session.id,),
        )
        return [Marker(name, archive, from_text(at), kept) for name, archive, at, kept in rows]

    async def archive(self, owner: str, content: str, topic: str = "") -> Entry:
        """Add an archive as compaction does."""
        stem = f"archive-{self.clock():%Y-%m-%d}"
        return await self.entries.add(
            owner, NewEntry(content, stem=stem, topic=topic, kind=Kind.ARCHIVE, author=Author.COMPACTION)
        )


def describe_undo(undone: UndoResult | None) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the operation, author and names of an undone change."""
    return (undone.operation, undone.author, undone.names) if undone else None
