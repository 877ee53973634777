"""Recall-only mode: without any model, questions are answered with what memory holds about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from config.models import ModelWindow
from memory.messages import Role
from pipeline.model import Finish, ModelAnswer, Tier
from pipeline.prompts import NOW_HEADER, SUMMARY_HEADER, SYSTEM_PROMPT

if TYPE_CHECKING:
    from pipeline.model import ModelRequest, OnText

LINES = 6
"""How many lines of memory an answer shows."""
LINE_CHARACTERS = 400

HEAD = "No model answers, so I can only recall, not think (`mneme model pull` fetches one, `mneme setup` connects one)."

_EXCHANGE = re.compile(r"^(?:- )?\[[^\]]*\] User: (?P<said>.*?)(?: \| Assistant: .*)?$")
_WORD = re.compile(r"\w{2,}")
_COMMON = frozenset(
    "about and are can did do does for have how is it me my of or tell that the to was we were what when where "
    "which who why will with you your".split()
)


class RecallOnlyModel:
    """A ChatModel that reads the memory in its request and answers with the lines that fit the question."""

    name = "recall-only"
    window = ModelWindow(max_input_tokens=32_768, max_output_tokens=1_024)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer with the lines of memory that share most words with the newest message."""
        text = "" if request.tier is Tier.FAST else self._answer(request)
        if on_text is not None and text:
            await on_text(text)
        return ModelAnswer(text, self.name, Finish.STOP, echo=True)

    def _answer(self, request: ModelRequest) -> str:
        asked = [m.content for m in request.messages if m.role is Role.USER]
        question = asked[-1] if asked else ""
        memory = [m.content.removeprefix(SYSTEM_PROMPT) for m in request.messages if m.role is Role.SYSTEM]
        found = _best_lines(question, [*memory, *asked[:-1]])
        head = HEAD
        if not found:
            return f"{head}\n\nI noted your message; I remember nothing about it yet."
        return "\n".join([head, "", "What I remember about that:", *(f"- {line}" for line in found)])


def _best_lines(question: str, sources: list[str]) -> list[str]:
    wanted = {word for word in _WORD.findall(question.lower()) if word not in _COMMON}
    # of an exchange only what the user said counts: what was recalled before must not be recalled again
    lines = dict.fromkeys(_EXCHANGE.sub(r"\g<said>", line).strip(" -*") for s in sources for line in s.splitlines())
    scored = [
        (len(wanted & set(_WORD.findall(line.lower()))), at, line[:LINE_CHARACTERS])
        for at, line in enumerate(lines)
        if line and line != question.strip() and not line.startswith(("#", NOW_HEADER, SUMMARY_HEADER))
    ]
    best = sorted((s for s in scored if s[0] > 0), key=lambda s: (-s[0], -s[1]))[:LINES]
    return [line for _, _, line in best]
