"""Tests of the benchmark that asks a real model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from benchmarks.answers import Answered, ask_all
from benchmarks.locomo_data import Dialogue, Question, SaidMessage
from config.settings import Settings
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

AT = datetime(2023, 5, 8, 12, tzinfo=UTC)
TEXTS = ("My boat is painted green.", "Nice! Where does it lie?", "In the harbour of Odesa.", "I see.")
DIALOGUE = Dialogue(
    ("Ann", "Ben"),
    (tuple(SaidMessage(f"D1:{number}", ("Ann", "Ben")[number % 2], text, AT) for number, text in enumerate(TEXTS)),),
    (
        Question("What colour is Ann's boat?", frozenset({"D1:0"}), 4, "green"),
        Question("Where does Ann's boat lie?", frozenset({"D1:2"}), 4, "in Odesa"),
    ),
)


async def test_each_question_is_asked_in_a_new_conversation_and_judged(model: ModelServer, tmp_path: Path) -> None:
    def answer(chat: ChatRequest) -> Says:
        if "Expected answer" in chat.prompt:
            return Says('{"right": true}' if "Given answer: green" in chat.prompt else '```json\n{"right": false}\n```')
        asked.append(chat)
        return Says("green" if "colour" in chat.said[-1] else "I don't know.")

    asked: list[ChatRequest] = []
    model.otherwise = answer
    settings = Settings.model_validate({"openai_base_url": model.url, "llm_model": "scripted", "timezone": "UTC"})
    answers = await ask_all(settings, "scripted", [DIALOGUE], 100, tmp_path)
    assert [(answer.text, answer.is_right) for answer in answers] == [("green", True), ("I don't know.", False)]
    assert all(isinstance(answer, Answered) for answer in answers)
    assert [chat.said for chat in asked] == [["What colour is my boat?"], ["Where does my boat lie?"]]
    assert not model.consolidations, "Learning from the dialogues would cost the reader's money"
    assert "painted green" in asked[0].prompt
    assert "Odesa" in asked[1].prompt
