"""A scripted model behind a strict chat-completions API, over real HTTP on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

from tests.support.agreement import confirm_claims
from tests.support.bot_api.params import Upload, read_form
from tests.support.servers.embedder import ScriptedEmbedder
from tests.support.servers.model_replies import (
    NOTHING_LEARNED,
    Calls,
    ChatRequest,
    Fails,
    Garbles,
    Hangs,
    Holds,
    Refuses,
    Reply,
    Says,
    ShowsPage,
    Streams,
    as_chat,
)
from tests.support.servers.personalities import Personality
from tests.support.servers.web import Answer, Request, Streamed, WebServer

PICTURE = r"data:image/(jpeg|png|gif|webp);base64,"
HEARD = ("flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "opus", "wav", "webm")
"""File extensions that the server accepts for recordings. Telegram's `.oga` is not included."""
PATIENCE = 20
"""Seconds that a test waits for a condition before it fails."""


class ModelServer:
    """Answers each request with the next scripted reply. When the script is empty, `otherwise` makes the reply.

    The server refuses a request if a tool call has no result or a tool result has no call, as providers do.
    Consolidations and second looks don't use the script and are not recorded in `requests`.

    Attributes:
        window: Requests with more tokens are refused as too long.
        consolidations: Recorded consolidation requests. `consolidation` answers them.
        second_looks: Recorded second looks. `second_look` answers them. By default it agrees.
        sees: Whether the model accepts pictures. If not, requests with pictures are refused.
        spoken: The transcript of every recording. None if the model can't hear.
        speech_formats: Audio formats for reading aloud. Empty if the model can't speak.
        refuses: Further reasons to refuse a request.
        pages: JSON responses of further endpoints, by target.
        visited: Targets of requests to these endpoints, including unknown ones.
        thinking: Seconds before an answer begins.
        pace: Seconds between two pieces of an answer.
        otherwise: Makes the reply to a request when the script is empty.
        embedder: Answers requests for embeddings.
    """

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self.requests: list[ChatRequest] = []
        self.consolidations: list[ChatRequest] = []
        self.consolidation: Callable[[ChatRequest], Reply] = lambda _: Says(NOTHING_LEARNED)
        self.second_looks: list[ChatRequest] = []
        self.second_look: Callable[[ChatRequest], Reply] = lambda chat: Says(
            confirm_claims(str(chat.messages[0]["content"]))
        )
        self.recordings: list[tuple[str, bytes]] = []
        self.keys: set[str] = set()
        self.sees = False
        self.spoken: str | None = None
        self.speech_formats: tuple[str, ...] = ()
        self.read_aloud: list[dict[str, str]] = []
        self.refused: list[str] = []
        self.refuses: tuple[Refuses, ...] = ()
        self.pages: dict[str, object] = {}
        self.visited: list[str] = []
        self.disconnects = 0
        self.thinking = self.pace = 0.0
        self.otherwise: Callable[[ChatRequest], Reply] = lambda request: Says(f"You said: {request.last}")
        self.embedder = ScriptedEmbedder()
        self.personality: Personality | None = None
        self._script: deque[Reply] = deque()
        self._web = WebServer(self._handle)
        self._changed = asyncio.Event()

    @property
    def url(self) -> str:
        """Return the base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self._web.port}/v1"

    async def __aenter__(self) -> Self:
        await self._web.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._web.stop()
        assert not self._web.crashes, self._web.crashes

    def script(self, *replies: Reply) -> None:
        """Queue replies for the next requests."""
        self._script.extend(replies)

    async def wait_for(self, predicate: Callable[[], bool]) -> None:
        """Wait until `predicate` is true, for at most PATIENCE seconds. Each event on the server checks it again."""
        async with asyncio.timeout(PATIENCE):
            while not predicate():
                self._changed.clear()
                await self._changed.wait()

    async def _handle(self, request: Request) -> Answer | Streamed | None:
        if self.personality is not None and request.target.endswith(("/chat/completions", "/responses", "/messages")):
            return await self._as_personality(request)
        if request.target == "/chat/completions":  # as most servers, which have their API under /v1
            return _error(Fails(404, "no such page"))
        if not request.target.endswith("/chat/completions"):
            return await self._besides_chat(request)
        chat = ChatRequest(json.loads(request.body), request.body)
        self._kept(chat).append(chat)
        self._changed.set()
        refusal = self._refusal_of(chat)
        if refusal is not None:
            return refusal
        reply = self._reply_to(chat)
        if isinstance(reply, ShowsPage):
            return Answer(200, b"<html><body>Please log in</body></html>", content_type="text/html; charset=utf-8")
        if isinstance(reply, Fails):
            return _error(reply)
        if isinstance(reply, Hangs):
            await asyncio.Event().wait()
        return Streamed(self._watched(chat, reply))

    async def _as_personality(self, request: Request) -> Answer | Streamed:
        assert self.personality is not None
        body = json.loads(request.body)
        refusal = self.personality.refusal(request.target, body)
        if refusal is not None:
            self.refused.append(refusal.body.decode())
            return refusal
        chat = ChatRequest(as_chat(body), request.body)
        self._kept(chat).append(chat)
        self._changed.set()
        wrong = self._wrong_with(chat)
        if wrong is not None:
            self.refused.append(wrong.message)
            return _error(wrong)
        reply = self._reply_to(chat)
        if isinstance(reply, Fails):
            return _error(reply)
        pieces = self.personality.stream(request.target, chat, reply)
        return Streamed(pieces, self.personality.content_type)

    def _refusal_of(self, chat: ChatRequest) -> Answer | Streamed | None:
        wrong = self._wrong_with(chat)
        if wrong is not None:
            self.refused.append(wrong.message)
            return _error(wrong)
        for dislike in self.refuses:
            if dislike.applies(chat):
                self.refused.append(dislike.message)
                return _refusal(dislike)
        return None

    def _reply_to(self, chat: ChatRequest) -> Reply:
        if chat.is_consolidation:
            return self.consolidation(chat)
        if chat.is_second_look:
            return self.second_look(chat)
        return self._script.popleft() if self._script else self.otherwise(chat)

    def _kept(self, chat: ChatRequest) -> list[ChatRequest]:
        if chat.is_second_look:
            return self.second_looks
        return self.consolidations if chat.is_consolidation else self.requests

    def _transcribe(self, request: Request) -> Answer:
        self.keys.add(request.header("authorization").removeprefix("Bearer "))
        fields = read_form(request)
        recording = fields.get("file")
        if self.spoken is None or not isinstance(recording, Upload) or "model" not in fields:
            return _error(Fails(404, "no such model"))
        self.recordings.append((recording.name, recording.content))
        self._changed.set()
        if recording.name.rpartition(".")[2] not in HEARD:
            return _error(Fails(400, f"file must be one of the following types: {HEARD}"))
        return Answer(200, json.dumps({"text": self.spoken}).encode())

    def _speak(self, request: Request) -> Answer:
        self.keys.add(request.header("authorization").removeprefix("Bearer "))
        asked = json.loads(request.body)
        self._changed.set()
        if not self.speech_formats or {"model", "voice", "input"} - asked.keys():
            return _error(Fails(404, "no such model"))
        if asked.get("response_format", "mp3") not in self.speech_formats:
            return _error(Fails(400, f"response_format must be one of {self.speech_formats}"))
        if not 0 < len(asked["input"]) <= 4096:
            return _error(Fails(400, "input must have 1 to 4096 characters"))
        self.read_aloud.append(asked)
        return Answer(200, b"OggS " + asked["input"].encode(), content_type="audio/ogg")

    async def _besides_chat(self, request: Request) -> Answer:
        if request.target.endswith("/audio/speech"):
            return self._speak(request)
        if request.target.endswith("/audio/transcriptions"):
            return self._transcribe(request)
        if request.target.endswith("/embeddings"):
            self._changed.set()
            return await self.embedder.answer(json.loads(request.body))
        return self._page(request.target)

    def _page(self, target: str) -> Answer:
        self.visited.append(target)
        self._changed.set()
        if target not in self.pages:
            return _error(Fails(404, "no such endpoint"))
        return Answer(200, json.dumps(self.pages[target]).encode())

    def _wrong_with(self, chat: ChatRequest) -> Fails | None:
        if self.window is not None and chat.tokens > self.window:
            return Fails(
                400,
                f"This model's maximum context length is {self.window} tokens, you sent {chat.tokens}",
                code="context_length_exceeded",
            )
        if wrong := next((wrong for m in chat.messages if (wrong := _wrong_content(m))), None):
            return Fails(400, wrong)
        if any(b"broken" in picture for picture in chat.pictures):
            return Fails(400, "could not process image")
        if chat.pictures and not self.sees:
            return Fails(400, "image input is not supported")
        open_calls: list[str] = []
        for message in chat.messages:
            if message["role"] == "tool":
                if message.get("tool_call_id") not in open_calls:
                    return Fails(400, "a message with role 'tool' must follow a message with its tool_call")
                open_calls.remove(message["tool_call_id"])
            elif open_calls:
                return Fails(400, f"tool_call_ids did not have response messages: {open_calls}")
            else:
                open_calls = [call["id"] for call in message.get("tool_calls", [])]
        return Fails(400, f"tool_call_ids did not have response messages: {open_calls}") if open_calls else None

    async def _watched(self, chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
        try:
            await asyncio.sleep(self.thinking)
            async for piece in _pieces(chat, reply):
                yield piece
                await asyncio.sleep(self.pace)
        except asyncio.CancelledError:
            self.disconnects += 1
            self._changed.set()
            raise


def _wrong_content(message: dict[str, Any]) -> str | None:
    content = message["content"]
    if isinstance(content, str) or (content is None and message.get("tool_calls")):
        return None
    if message["role"] not in ("user", "system") or any(
        "image_url" in part for part in content if message["role"] == "system"
    ):
        return f"messages of role {message['role']} take text only"
    if not isinstance(content, list) or not content:
        return "content must be a text or parts"
    for part in content:
        if part["type"] not in ("text", "image_url"):
            return f"unknown part {part['type']}"
        if part["type"] == "image_url" and not re.match(PICTURE, part["image_url"]["url"]):
            return "a picture must be a data URL of a type that is known"
    return None


async def _pieces(chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
    if isinstance(reply, Garbles):
        yield b"data: {not json\n\n"
        return
    if isinstance(reply, Streams):
        async for piece in _streamed(reply):
            yield piece
        return
    text = reply.text if isinstance(reply, Says | Holds | Calls) else ""
    for at in range(0, len(text), 5):
        yield _chunk({"content": text[at : at + 5]})
    if isinstance(reply, Holds):
        await reply.release.wait()
    finish: str | None = "stop"
    if isinstance(reply, Calls):
        finish = "tool_calls"
        for index, (name, arguments) in enumerate(reply.calls):
            written = reply.arguments_for(chat, name, arguments)
            call = {"index": index, "id": f"call_{len(chat.messages)}_{index}", "type": "function"}
            yield _chunk({"tool_calls": [call | {"function": {"name": name, "arguments": ""}}]})
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": written}}]})
    if isinstance(reply, Says):
        finish = reply.finish
    if finish is None:
        yield None
        return
    yield _chunk({}, finish)
    usage = {"prompt_tokens": chat.tokens, "completion_tokens": len(text) // 4, "total_tokens": chat.tokens}
    yield f"data: {json.dumps(_envelope([]) | {'usage': usage})}\n\n".encode()
    yield b"data: [DONE]\n\n"


async def _streamed(reply: Streams) -> AsyncIterator[bytes]:
    for chunk in reply.chunks:
        yield f"data: {json.dumps(chunk)}\n\n".encode()
    if reply.hangs:
        await asyncio.Event().wait()
    yield b"data: [DONE]\n\n"


def _chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps(_envelope([choice]))}\n\n".encode()


def _envelope(choices: list[dict[str, object]]) -> dict[str, object]:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": choices}


def _refusal(dislike: Refuses) -> Answer | Streamed:
    if not dislike.streamed:
        return _error(Fails(dislike.status, dislike.message, param=dislike.param))

    async def said() -> AsyncIterator[bytes | None]:
        yield f"event: error\ndata: {json.dumps({'error': {'message': dislike.message}})}\n\n".encode()

    return Streamed(said())


def _error(reply: Fails) -> Answer:
    body = {"error": {"message": reply.message, "type": "error", "code": reply.code, "param": reply.param}}
    return Answer(reply.status, json.dumps(body).encode(), retry_after=reply.retry_after)
