"""Tests that pictures stay in user messages when a request is adapted to a server."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memory.messages import Image, Message, Role, ToolCall
from pipeline.models.capabilities import Adjustments, Part
from pipeline.models.chat_completions import ChatCompletions
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelRequest, ToolSpec
from tests.support.servers.model_replies import pictures_of
from tests.support.talk import NOON

PICTURE = Image("image/png", b"\x89PNG one")
LOOK = ToolSpec("photo_look", "Look.", '{"type": "object", "properties": {}}')
OTHER = Image("image/jpeg", b"\xff\xd8\xff two")


def build_messages(messages: list[Message], without: Collection[str] = ()) -> list[dict[str, Any]]:
    request = ModelRequest(messages, (LOOK,))
    adjustments = Adjustments(frozenset(map(Part, without)))
    made: list[dict[str, Any]] = ChatCompletions().build_body(Endpoint(None, "key"), "m", request, adjustments)[
        "messages"
    ]
    return made


def user(text: str, *images: Image) -> Message:
    return Message(Role.USER, text, NOON, images=images)


def create_look_calls(*numbers: int) -> list[Message]:
    calls = tuple(ToolCall(f"c{n}", "photo_look", "{}") for n in numbers)
    results = [
        Message(Role.TOOL, "below", NOON, speaker="photo_look", tool_call_id=f"c{n}", images=(PICTURE,))
        for n in numbers
    ]
    return [Message(Role.ASSISTANT, "", NOON, tool_calls=calls), *results]


def test_picture_is_a_part_of_its_message() -> None:
    (message,) = build_messages([user("Look", PICTURE, OTHER)])
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "image_url"]
    assert pictures_of(message) == [PICTURE.content, OTHER.content]


def test_tool_pictures_follow_all_results_of_the_call() -> None:
    made = build_messages([user("Look"), *create_look_calls(1, 2), Message(Role.ASSISTANT, "Seen.", NOON)])
    assert [message["role"] for message in made] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert pictures_of(made[4]) == [PICTURE.content] * 2
    assert "the user did not write this" in made[4]["content"][0]["text"]


def test_refused_pictures_leave_the_text() -> None:
    made = build_messages([user("Look", PICTURE), *create_look_calls(1)], {Part.IMAGES})
    assert [message["content"] for message in made] == ["Look", "", "below"]


def test_joined_messages_keep_their_pictures_in_order() -> None:
    (made,) = build_messages([user("One", PICTURE), user("Two"), user("Three", OTHER)], {Part.SAME_ROLE})
    kinds = [part.get("text", "picture") for part in made["content"]]
    assert kinds == ["One", "picture", "Two", "Three", "picture"]
