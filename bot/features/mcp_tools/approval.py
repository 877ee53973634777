"""Approval of tool calls: the question in the chat, its answer, and the permanent answers of a chat."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from config.texts import _
from memory.buttons import Button, Keyboard
from memory.runtime.preferences import PreferenceStore
from memory.text.validity import escape_invisible
from pipeline.tools.toolbox import Asking

ANSWER_MINUTES = 5
"""How long a question waits for its answer. This time doesn't count towards the time limit of the turn."""
MAX_ARGUMENT_CHARS = 400
"""Limit for each argument in a question, so that a long one can't hide the others."""
MAX_ARGUMENTS = 12
# Numbers are random, so that only the question's own buttons can answer it. A command takes 15 digits.
_NUMBERS = 10**15

NOBODY = "not run: it needs the user's consent, and nobody can be asked here. Go on without it, and say so"
UNANSWERED = (
    f"not run: the user was asked and has not answered within {ANSWER_MINUTES} minutes. Go on without it, and say so"
)
REFUSED = "not run: the user does not want it this time. Go on without it, and don't call it again"
NEVER = "not run: the user has said that it must never be run in this chat. Go on without it, and say so"


class Answer(StrEnum):
    """An answer to a question. The last two apply to all later calls in the chat."""

    ONCE = "once"
    NOT_NOW = "not now"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A tool call that needs approval.

    Attributes:
        digest: The digest of the tool's current description. "Always" is valid only while it stays the same.
    """

    server: str
    tool: str
    digest: str
    arguments: Mapping[str, object]

    @property
    def key(self) -> str:
        return f"{self.server}/{self.tool}"


class _NotShown(Exception):
    """Raised if the chat has no way to answer a question."""


@dataclass(slots=True)
class _Question:
    session_id: str
    asker: str | None
    request: ToolCallRequest
    answer: asyncio.Future[Answer]


class Approvals:
    """The pending questions, and the permanent answers of chats (`Preferences.tools`)."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences
        self._questions: dict[int, _Question] = {}

    async def request_approval(self, session_id: str, asking: Asking | None, request: ToolCallRequest) -> str | None:
        """Ask for approval if needed. Return the reason why the call must not run, for the model, or None if it may."""
        if asking is None:
            return NOBODY
        settled = (await self._load_answers(asking.chat)).get(request.key, "")
        if settled == Answer.NEVER:
            return NEVER
        if settled == f"{Answer.ALWAYS} {request.digest}":
            return None
        try:
            answer = await self._ask(session_id, asking, request)
        except _NotShown:
            return NOBODY
        if answer in (Answer.ALWAYS, Answer.NEVER):
            await self._settle(asking.chat, request, answer)
        return {None: UNANSWERED, Answer.NOT_NOW: REFUSED, Answer.NEVER: NEVER}.get(answer)

    def answer(self, session_id: str, asker: str | None, number: int | None, answer: Answer) -> str | None:
        """Answer the question with that number, or without a number the asker's own question.

        Returns:
            The key of the tool, or None if there is no such question.
        """
        for question_number, question in self._questions.items():
            own = (question.session_id, question.asker) == (session_id, asker)
            if (number == question_number if number is not None else own) and not question.answer.done():
                question.answer.set_result(answer)
                return question.request.key
        return None

    async def get_answers(self, chat: str) -> dict[str, Answer]:
        return {key: Answer(text.split()[0]) for key, text in (await self._load_answers(chat)).items()}

    async def forget_answers(self, chat: str) -> None:
        await self._preferences.change(chat, tools=None)

    async def _load_answers(self, chat: str) -> dict[str, str]:
        return dict(json.loads((await self._preferences.get(chat)).tools or "{}"))

    async def _settle(self, chat: str, request: ToolCallRequest, answer: Answer) -> None:
        text = f"{answer} {request.digest}" if answer is Answer.ALWAYS else str(answer)
        settled = await self._load_answers(chat) | {request.key: text}
        await self._preferences.change(chat, tools=json.dumps(settled, ensure_ascii=False))

    async def _ask(self, session_id: str, asking: Asking, request: ToolCallRequest) -> Answer | None:
        """Ask and return the answer, or None after the timeout. /stop cancels the wait. Raises _NotShown."""
        number = secrets.randbelow(_NUMBERS)
        question = _Question(session_id, asking.asker, request, asyncio.get_running_loop().create_future())
        self._questions[number] = question
        try:
            with asking.untimed():
                if not await asking.show(_format_question(request), _create_buttons(number)):
                    raise _NotShown
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_MINUTES * 60):
                        return await question.answer
        finally:
            del self._questions[number]
        return None


def _format_question(request: ToolCallRequest) -> str:
    arguments = list(request.arguments.items())[:MAX_ARGUMENTS]
    lines = [f"{_shorten(key)}: {_shorten(value)}" for key, value in arguments]
    if len(request.arguments) > MAX_ARGUMENTS:
        lines.append(_("... and {n} more", n=len(request.arguments) - MAX_ARGUMENTS))
    # An argument that closes the code block could imitate the bot's own text.
    fenced = "\n".join(lines).replace("```", "'''")
    question = _("May I run **{tool}** from {server}?", tool=_escape(request.tool), server=_escape(request.server))
    return f"{question}\n```\n{fenced}\n```" if lines else question


def _shorten(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Indent further lines, so that they can't look like other arguments.
    shown = escape_invisible(text[:MAX_ARGUMENT_CHARS])[: 2 * MAX_ARGUMENT_CHARS].replace("\n", "\n    ")
    if len(text) <= MAX_ARGUMENT_CHARS:
        return shown
    return f"{shown} " + _("... and {n} more characters", n=len(text) - MAX_ARGUMENT_CHARS)


def _escape(name: str) -> str:
    """Escape markup in a foreign name and make its invisible characters visible."""
    shown = escape_invisible(" ".join(name.split()))
    return "".join(c if c.isalnum() or c in " .-" else f"\\{c}" for c in shown if c.isprintable())


def _create_buttons(number: int) -> Keyboard:
    labels = (
        (("yes", _("Yes, this once")), ("no", _("No"))),
        (("always", _("Always in this chat")),),
        (("never", _("Never in this chat")),),
    )
    return tuple(
        tuple(Button(label, f"/{name}_{number}", in_place=True, minutes=ANSWER_MINUTES) for name, label in row)
        for row in labels
    )
