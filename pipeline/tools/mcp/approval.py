"""Asking before a tool does something: the question in the chat, its answer, and what a chat has settled for good."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import _
from memory.buttons import Button
from memory.text.validity import visible_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.buttons import Keyboard
    from memory.service.preferences import PreferenceStore
    from pipeline.tools.toolbox import Asking

MINUTES = 5
"""How long a question waits for its answer; a turn's own time stands still meanwhile."""
LONGEST_ARGUMENT = 400
"""Characters of each argument that a question shows: a long one must not hide the others."""
MOST_ARGUMENTS = 12
# A question's number can't be guessed: only a button of its own says it. A command takes 15 digits.
_NUMBERS = 10**15

NOBODY = "not run: it needs the user's consent, and nobody can be asked here. Go on without it, and say so"
UNANSWERED = f"not run: the user was asked and has not answered within {MINUTES} minutes. Go on without it, and say so"
REFUSED = "not run: the user does not want it this time. Go on without it, and don't call it again"
NEVER = "not run: the user has said that it must never be run in this chat. Go on without it, and say so"


class Answer(StrEnum):
    """What a person says to a question. The last two hold in the chat from then on."""

    ONCE = "once"
    NOT_NOW = "not now"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """What is asked about. digest: of the tool as its server describes it now; what was always allowed is that."""

    server: str
    tool: str
    digest: str
    arguments: Mapping[str, object]

    @property
    def key(self) -> str:
        return f"{self.server}/{self.tool}"


class _NotShown(Exception):
    """The question is where nobody can answer it."""


@dataclass(slots=True)
class _Question:
    session_id: str
    asker: str | None
    request: ToolCallRequest
    answer: asyncio.Future[Answer]


class Approvals:
    """The questions that wait for an answer, and the answers that chats have settled (`Preferences.tools`)."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences
        self._questions: dict[int, _Question] = {}

    async def refusal(self, session_id: str, asking: Asking | None, request: ToolCallRequest) -> str | None:
        """Why a call must not be run, for the model; None where it may."""
        if asking is None:
            return NOBODY
        settled = (await self._settled(asking.chat)).get(request.key, "")
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
        """Answer a question by its number, or else the asker's own; its tool, None where no such question waits."""
        for known_as, question in self._questions.items():
            own = (question.session_id, question.asker) == (session_id, asker)
            if (number == known_as if number is not None else own) and not question.answer.done():
                question.answer.set_result(answer)
                return question.request.key
        return None

    async def settled(self, chat: str) -> dict[str, Answer]:
        return {key: Answer(text.split()[0]) for key, text in (await self._settled(chat)).items()}

    async def ask_anew(self, chat: str) -> None:
        await self._preferences.change(chat, tools=None)

    async def _settled(self, chat: str) -> dict[str, str]:
        return dict(json.loads((await self._preferences.get(chat)).tools or "{}"))

    async def _settle(self, chat: str, request: ToolCallRequest, answer: Answer) -> None:
        text = f"{answer} {request.digest}" if answer is Answer.ALWAYS else str(answer)
        settled = await self._settled(chat) | {request.key: text}
        await self._preferences.change(chat, tools=json.dumps(settled, ensure_ascii=False))

    async def _ask(self, session_id: str, asking: Asking, request: ToolCallRequest) -> Answer | None:
        """What a person answers; None where nobody does in time. A /stop ends the wait. Raises _NotShown."""
        number = secrets.randbelow(_NUMBERS)
        question = _Question(session_id, asking.asker, request, asyncio.get_running_loop().create_future())
        self._questions[number] = question
        try:
            with asking.untimed():
                if not await asking.show(_wording(request), _buttons(number)):
                    raise _NotShown
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(MINUTES * 60):
                        return await question.answer
        finally:
            del self._questions[number]
        return None


def _wording(request: ToolCallRequest) -> str:
    arguments = list(request.arguments.items())[:MOST_ARGUMENTS]
    lines = [f"{_shortened(key)}: {_shortened(value)}" for key, value in arguments]
    if len(request.arguments) > MOST_ARGUMENTS:
        lines.append(_("... and {n} more", n=len(request.arguments) - MOST_ARGUMENTS))
    # what ends the fence would be shown as if it were ours
    fenced = "\n".join(lines).replace("```", "'''")
    question = _("May I run **{tool}** of {server}?", tool=_plain(request.tool), server=_plain(request.server))
    return f"{question}\n```\n{fenced}\n```" if lines else question


def _shortened(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # a further line is indented: it could look like an argument
    shown = visible_text(text[:LONGEST_ARGUMENT])[: 2 * LONGEST_ARGUMENT].replace("\n", "\n    ")
    if len(text) <= LONGEST_ARGUMENT:
        return shown
    return f"{shown} " + _("... and {n} more characters", n=len(text) - LONGEST_ARGUMENT)


def _plain(name: str) -> str:
    """Escape markup in a name that others chose, and show the characters in it that hide."""
    shown = visible_text(" ".join(name.split()))
    return "".join(c if c.isalnum() or c in " .-" else f"\\{c}" for c in shown if c.isprintable())


def _buttons(number: int) -> Keyboard:
    labels = (
        (("yes", _("Yes, this once")), ("no", _("No"))),
        (("always", _("Always in this chat")),),
        (("never", _("Never in this chat")),),
    )
    return tuple(
        tuple(Button(label, f"/{name}_{number}", in_place=True, minutes=MINUTES) for name, label in row)
        for row in labels
    )
