"""Model servers as strict as the real ones. Each one imitates the responses and errors of one provider.

A personality wraps the scripted replies of `ModelServer`. Errors that a program has to parse use the provider's exact
wording.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.model_replies import Calls, ChatRequest, Reply, Says
from tests.support.servers.web import Answer

Body = dict[str, Any]


@dataclass(eq=False)
class Personality:
    """A plain OpenAI-compatible server and the base class of the others.

    Attributes:
        model: The name of the served model.
        thinks: Whether the model reasons before it answers.
        sent: The assistant messages sent so far, by their text or the id of their first call.
    """

    model: str = "plain-1"
    thinks: bool = False
    has_responses: bool = False
    sent: dict[str, Any] = field(default_factory=dict)
    numbers: Iterable[int] = field(default_factory=itertools.count)

    def refusal(self, path: str, body: Body) -> Answer | None:
        """Return the refusal of a request, or None."""
        if path.endswith("/responses"):
            return None if self.has_responses else create_error(404, "Not Found")
        unknown = body.keys() - KNOWN_FIELDS
        if unknown:
            return create_error(400, f"Unrecognized request argument supplied: {min(unknown)}", param=min(unknown))
        return self.refuse_chat(body)

    def refuse_chat(self, body: Body) -> Answer | None:
        """Return the refusal of a chat completion, or None."""
        return None

    async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
        """Yield the answer."""
        for chunk in self.chunks(chat, reply):
            yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    content_type = "text/event-stream"

    def chunks(self, chat: ChatRequest, reply: Reply) -> Iterable[Body]:
        """Return the chunks of a chat completion."""
        text, calls = get_reply_text(reply), list_calls(chat, reply)
        yield create_delta({"role": "assistant", "content": ""})
        yield from (create_delta(piece) for piece in self.reasoning(reply))
        yield from (create_delta({"content": text[at : at + 7]}) for at in range(0, len(text), 7))
        for index, (name, arguments) in enumerate(calls):
            yield create_delta({"tool_calls": [self.wire_call(index, name, arguments)]})
        yield create_delta({}, "tool_calls" if calls else "stop")
        yield {"choices": [], "usage": self.usage(chat)}

    def reasoning(self, reply: Reply) -> list[Body]:
        """Return the deltas that hold the model's reasoning."""
        return []

    def wire_call(self, index: int, name: str, arguments: str) -> Body:
        """Return a tool call in the format of the stream."""
        return {
            "index": index,
            "id": self.call_id(),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }

    def call_id(self) -> str:
        """Return a new id of a call."""
        return f"call_{next(iter(self.numbers)):024d}"

    def usage(self, chat: ChatRequest) -> Body:
        """Return the usage that is reported."""
        return {"prompt_tokens": chat.tokens, "completion_tokens": 9, "total_tokens": chat.tokens + 9}


KNOWN_FIELDS = frozenset(
    "model messages stream stream_options temperature max_tokens max_completion_tokens tools tool_choice"
    " reasoning_effort response_format".split()
)


class DeepSeek(Personality):
    """Reasons by default. Each message with tool calls must come back with its reasoning."""

    def refuse_chat(self, body: Body) -> Answer | None:
        for message in body["messages"]:
            if message.get("tool_calls") and message.get("reasoning_content") != self.sent.get(
                get_first_call_id(message)
            ):
                said = "The `reasoning_content` in the thinking mode must be passed back to the API."
                return create_error(400, said, code="invalid_request_error")
            if message.get("tool_calls") and message.get("reasoning_content") is None:
                return create_error(400, "The `reasoning_content` in the thinking mode must be passed back to the API.")
        return None

    def reasoning(self, reply: Reply) -> list[Body]:
        thought = f"Let me think \N{CLOUD} about number {next(iter(self.numbers))}."
        self.sent["last"] = thought
        return [{"reasoning_content": thought[:9]}, {"reasoning_content": thought[9:]}]

    def wire_call(self, index: int, name: str, arguments: str) -> Body:
        made = super().wire_call(index, name, arguments)
        self.sent[made["id"]] = self.sent["last"]
        return made

    def usage(self, chat: ChatRequest) -> Body:
        return super().usage(chat) | {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": chat.tokens - 64}


class Kimi(DeepSeek):
    """Like DeepSeek, but accepts only temperature 1."""

    def refuse_chat(self, body: Body) -> Answer | None:
        if body.get("temperature", 1) != 1:
            return create_error(
                400, "invalid temperature: only 1 is allowed for this model", code="invalid_request_error"
            )
        return super().refuse_chat(body)

    def call_id(self) -> str:
        return f"functions.tool:{next(iter(self.numbers))}"


class Gemini(Personality):
    """Signs tool calls, requires the signatures back, and sends errors as a list."""

    def refusal(self, path: str, body: Body) -> Answer | None:
        refused = super().refusal(path, body)
        if refused is None or refused.status == 404:
            return refused
        said = json.loads(refused.body)["error"]["message"]
        listed = [{"error": {"code": refused.status, "message": said, "status": "INVALID_ARGUMENT"}}]
        return Answer(refused.status, json.dumps(listed).encode())

    def refuse_chat(self, body: Body) -> Answer | None:
        for place, tool in enumerate(body.get("tools", [])):
            if wrong := find_gemini_dislike(tool["function"]["parameters"], "parameters"):
                return create_error(400, f"* GenerateContentRequest.tools[0].function_declarations[{place}].{wrong}\n")
        for position, message in enumerate(body["messages"]):
            for call in message.get("tool_calls", [])[:1]:
                signature = call.get("extra_content", {}).get("google", {}).get("thought_signature")
                if signature is None or signature != self.sent.get(call["id"]):
                    return create_error(
                        400,
                        "Function call is missing a thought_signature in functionCall parts. This is required for tools"
                        " to work correctly, and missing thought_signature may lead to degraded model performance."
                        f" Additional data, function call `default_api:{call['function']['name']}`, position"
                        f" {position}.",
                    )
        return None

    def wire_call(self, index: int, name: str, arguments: str) -> Body:
        made = super().wire_call(index, name, arguments)
        if index:  # parallel calls: the first alone is signed
            return made
        self.sent[made["id"]] = f"sig/{next(iter(self.numbers))}=="
        return made | {"extra_content": {"google": {"thought_signature": self.sent[made["id"]]}}}


class Claude(Personality):
    """Anthropic's OpenAI-compatible endpoint. Refuses empty texts, and tool messages in requests without tools."""

    def refuse_chat(self, body: Body) -> Answer | None:
        for place, message in enumerate(body["messages"]):
            content = message.get("content")
            parts = [content] if isinstance(content, str) else [part.get("text", "x") for part in content or ()]
            if any(not part.strip() for part in parts):
                return create_error(
                    400, f"messages.{place}: text content blocks must be non-empty", kind="invalid_request_error"
                )
        if not body.get("tools") and any(m["role"] == "tool" or m.get("tool_calls") for m in body["messages"]):
            return create_error(400, "Requests which include `tool_use` or `tool_result` blocks must define tools.")
        if "temperature" in body and "top_p" in body:
            return create_error(400, "`temperature` and `top_p` cannot both be specified for this model.")
        return None

    def chunks(self, chat: ChatRequest, reply: Reply) -> Iterable[Body]:
        # a call stands alone, without an empty text before it
        return (
            chunk for chunk in super().chunks(chat, reply) if chunk["choices"][:1] != [create_delta({"content": ""})]
        )


class OpenRouter(Personality):
    """Sends comments while it waits, requires reasoning blocks back unchanged, and reports the cost of a call."""

    def refuse_chat(self, body: Body) -> Answer | None:
        for message in body["messages"]:
            known = self.sent.get(get_first_call_id(message)) if message.get("tool_calls") else None
            if known is not None and message.get("reasoning_details") != known:
                raw = json.dumps(
                    {
                        "type": "error",
                        "error": {"message": "messages.1.content.0: Invalid `signature` in `thinking` block"},
                    }
                )
                return create_error(400, "Provider returned error", metadata={"raw": raw, "provider_name": "Anthropic"})
        return None

    async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
        yield b": OPENROUTER PROCESSING\n\n"
        async for piece in super().stream(path, chat, reply):
            yield piece

    def reasoning(self, reply: Reply) -> list[Body]:
        number = next(iter(self.numbers))
        first = {"type": "reasoning.text", "text": "Let me ", "format": "anthropic-claude-v1", "index": 0}
        second = {"type": "reasoning.text", "text": f"think {number}.", "format": "anthropic-claude-v1", "index": 0}
        signed = {"type": "reasoning.text", "signature": f"sig{number}", "format": "anthropic-claude-v1", "index": 0}
        self.sent["last"] = [first | {"text": f"Let me think {number}.", "signature": f"sig{number}"}]
        return [{"reasoning": piece.get("text"), "reasoning_details": [piece]} for piece in (first, second, signed)]

    def wire_call(self, index: int, name: str, arguments: str) -> Body:
        made = super().wire_call(index, name, arguments)
        self.sent[made["id"]] = self.sent["last"]
        return made

    def usage(self, chat: ChatRequest) -> Body:
        return super().usage(chat) | {"cost": 0.00123, "prompt_tokens_details": {"cached_tokens": 32}}


class Mistral(Personality):
    """Requires ids of nine letters or digits and a strict order of roles. Sends content in parts."""

    def refuse_chat(self, body: Body) -> Answer | None:
        for before, message in itertools.pairwise(body["messages"]):
            if message["role"] == "user" and before["role"] == "tool":
                return create_error(
                    400, "Unexpected role 'user' after role 'tool'", kind="invalid_request_message_order"
                )
        for message in body["messages"]:
            ids = [call["id"] for call in message.get("tool_calls", [])]
            ids += [message["tool_call_id"]] if "tool_call_id" in message else []
            for call_id in ids:
                if not re.fullmatch("[a-zA-Z0-9]{9}", call_id):
                    said = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
                    return Answer(
                        400, json.dumps({"object": "error", "message": said, "type": "invalid_request_error"}).encode()
                    )
        if "stream_options" in body:
            detail = [
                {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
            ]
            return Answer(422, json.dumps({"detail": detail}).encode())
        return None

    def call_id(self) -> str:
        return f"c{next(iter(self.numbers)):08d}"

    def chunks(self, chat: ChatRequest, reply: Reply) -> Iterable[Body]:
        yield create_delta({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]})
        for chunk in super().chunks(chat, reply):
            for choice in chunk["choices"]:
                if text := choice["delta"].get("content"):
                    choice["delta"]["content"] = [{"type": "text", "text": text}]
            yield chunk


class Qwen(Personality):
    """A model in Ollama. It reasons in tags, writes tool calls as text, and ends without a finish reason."""

    opens = True

    def refuse_chat(self, body: Body) -> Answer | None:
        for place, message in enumerate(body["messages"]):
            if "<think>" in str(message.get("content")):
                return create_error(400, f"messages[{place}] holds thinking")
            if place and message["role"] == "system":
                return create_error(400, "System message must be at the beginning.")
        return None

    def chunks(self, chat: ChatRequest, reply: Reply) -> Iterable[Body]:
        text = (
            ("<think>\n" if self.opens else "")
            + "The user wants something. I answer.\n</think>\n\n"
            + get_reply_text(reply)
        )
        for name, arguments in list_calls(chat, reply):
            written = json.dumps({"name": name, "arguments": json.loads(arguments)})
            text += f"\n<tool_call>\n{written}\n</tool_call>"
        for at in range(0, len(text), 3):
            yield create_delta({"content": text[at : at + 3]})


class ClosingTagOnly(Qwen):
    """The chat template opens the reasoning tag, so the answer has only the closing tag."""

    opens = False


class WholeJson(Personality):
    """Sends a single JSON object even if the request asks for a stream."""

    content_type = "application/json"

    async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
        calls = [self.wire_call(at, *call) for at, call in enumerate(list_calls(chat, reply))]
        message: Body = {"role": "assistant", "content": get_reply_text(reply) or None, "reasoning_content": "Hm."}
        message |= {"tool_calls": calls} if calls else {}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        yield json.dumps({"object": "chat.completion", "choices": [choice], "usage": self.usage(chat)}).encode()


class NoIds(Personality):
    """Sends parallel tool calls with index 0 and without ids."""

    def wire_call(self, index: int, name: str, arguments: str) -> Body:
        return {"index": 0, "function": {"name": name, "arguments": arguments}}


class LaterOpenAI(Personality):
    """GPT-5.6 and later. Only the Responses API combines tools with reasoning. Accepts only temperature 1.

    Attributes:
        knows_none: Whether chat completions accept tools with the effort `none`.
    """

    knows_none = True

    def refusal(self, path: str, body: Body) -> Answer | None:
        if not path.endswith("/responses"):
            return super().refusal(path, body)
        return self.refuse_responses(body) if self.has_responses else create_error(404, "Not Found")

    def refuse_chat(self, body: Body) -> Answer | None:
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model."
            said += " Use 'max_completion_tokens' instead."
            return create_error(400, said, param="max_tokens", code="unsupported_parameter")
        if body.get("temperature", 1) != 1:
            said = "Unsupported value: 'temperature' does not support 0.3 with this model."
            said += " Only the default (1) value is supported."
            return create_error(400, said, param="temperature", code="unsupported_value")
        effort = body.get("reasoning_effort")
        if effort == "minimal" or (effort == "none" and not self.knows_none):
            said = f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model."
            return create_error(400, said, param="reasoning_effort", code="unsupported_value")
        if body.get("tools") and effort != "none":
            said = (
                f"Function tools with reasoning_effort are not supported for {self.model} in /v1/chat/completions. "
                "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
            )
            return create_error(400, said, param="reasoning_effort", kind="invalid_request_error")
        return None

    def refuse_responses(self, body: Body) -> Answer | None:
        """Return the refusal of a response, or None."""
        known = "model input instructions stream store include prompt_cache_key max_output_tokens reasoning text tools"
        known += " tool_choice"
        for name in body:
            if name not in known.split():
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return create_error(400, said, param=name, code="unsupported_parameter")
        if body.get("store") is not False or "reasoning.encrypted_content" not in body.get("include", []):
            return create_error(400, "Zero data retention needs store=false and encrypted reasoning.", param="store")
        if body.get("reasoning", {}).get("effort") == "minimal":
            return create_error(400, "Unsupported value: 'minimal' is not supported.", param="reasoning.effort")
        return self._wrong_items(body["input"])

    def _wrong_items(self, items: list[Body]) -> Answer | None:
        called: list[str] = []
        answered: list[str] = []
        for place, item in enumerate(items):
            kind = item.get("type", "message")
            if kind == "reasoning" and item != self.sent.get(item["id"]):
                return create_error(
                    400, f"The encrypted content of item {item['id']} could not be verified.", param="input"
                )
            if kind == "function_call":
                called.append(item["call_id"])
                needs = self.sent.get(item["call_id"])
                if needs is not None and (not place or items[place - 1].get("id") != needs):
                    return create_error(
                        400,
                        f"Item 'function_call' was provided without its required 'reasoning' item: '{needs}'.",
                        param="input",
                    )
            if kind == "function_call_output":
                answered.append(item["call_id"])
            if kind == "message" and not item.get("content"):
                return create_error(400, "Invalid 'input': empty content.", param=f"input[{place}].content")
            if kind not in ("message", "reasoning", "function_call", "function_call_output"):
                return create_error(400, f"Invalid value: '{kind}'.", param=f"input[{place}].type")
        if called != answered:
            return create_error(400, "No tool output found for function call.", param="input")
        return None

    async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
        if not path.endswith("/responses"):
            async for piece in super().stream(path, chat, reply):
                yield piece
            return
        for event in self._events(chat, reply):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _events(self, chat: ChatRequest, reply: Reply) -> Iterable[Body]:
        number = next(iter(self.numbers))
        yield {"type": "response.created", "response": {"status": "in_progress", "output": []}}
        reasoning = {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": f"gAAA{number}"}
        self.sent[str(reasoning["id"])] = reasoning
        output: list[Body] = [reasoning]
        yield {"type": "response.output_item.done", "output_index": 0, "item": reasoning}
        if text := get_reply_text(reply):
            for at in range(0, len(text), 7):
                yield {"type": "response.output_text.delta", "delta": text[at : at + 7]}
            content = [{"type": "output_text", "text": text, "annotations": []}]
            output.append(
                {
                    "id": f"msg_{number}",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            )
            yield {"type": "response.output_item.done", "item": output[-1]}
        for at, (name, arguments) in enumerate(list_calls(chat, reply)):
            call_id = self.call_id()
            if not at and not get_reply_text(reply):
                self.sent[call_id] = reasoning["id"]
            item = {
                "id": f"fc_{number}_{at}",
                "type": "function_call",
                "status": "completed",
                "call_id": call_id,
                "name": name,
            }
            yield {"type": "response.output_item.added", "item": item | {"arguments": ""}}
            yield {"type": "response.function_call_arguments.delta", "delta": arguments}
            output.append(item | {"arguments": arguments})
            yield {"type": "response.output_item.done", "item": output[-1]}
        usage = {
            "input_tokens": chat.tokens,
            "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 32},
            "output_tokens_details": {"reasoning_tokens": 5},
        }
        yield {"type": "response.completed", "response": {"status": "completed", "output": output, "usage": usage}}


class ResponsesOnly(LaterOpenAI):
    """GPT-6 Astra. Refuses the effort `none`."""

    knows_none = False


class EarlierOpenAI(Personality):
    """GPT-5.4 and 5.5. Accepts tools without an effort, only temperature 1, and the newer output limit parameter."""

    def refuse_chat(self, body: Body) -> Answer | None:
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model."
            said += " Use 'max_completion_tokens' instead."
            return create_error(400, said, param="max_tokens", code="unsupported_parameter")
        if body.get("temperature", 1) != 1:
            return create_error(400, "Unsupported value: 'temperature'.", param="temperature", code="unsupported_value")
        if body.get("tools") and body.get("reasoning_effort"):
            said = "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions."
            said += " Please use /v1/responses instead."
            return create_error(400, said, param="reasoning_effort")
        return None


class NativeClaude(Personality):
    """Anthropic's Messages API. Checks blocks, ids and signatures, and reports the cached part of the prompt."""

    def refusal(self, path: str, body: Body) -> Answer | None:
        if not path.endswith("/messages"):
            return create_error(404, "not_found_error")
        known = {"model", "max_tokens", "messages", "stream", "system", "tools", "tool_choice", "temperature"}
        if unknown := body.keys() - known:
            return self._invalid(f"{min(unknown)}: Extra inputs are not permitted")
        if not isinstance(body.get("max_tokens"), int):
            return self._invalid("max_tokens: Field required")
        roles = [message["role"] for message in body["messages"]]
        if roles[:1] != ["user"] or any(a == b for a, b in itertools.pairwise(roles)):
            return self._invalid('messages: roles must alternate between "user" and "assistant"')
        if not body.get("tools") and any(b["type"] == "tool_use" for m in body["messages"] for b in m["content"]):
            return self._invalid("Requests which include `tool_use` or `tool_result` blocks must define tools.")
        if json.dumps(body).count("cache_control") > 4:
            return self._invalid("A maximum of 4 blocks with cache_control may be provided.")
        return self._wrong_blocks(body)

    def _wrong_blocks(self, body: Body) -> Answer | None:
        open_ids: list[str] = []
        for place, message in enumerate(body["messages"]):
            results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
            if results != open_ids:
                return self._invalid(f"messages.{place}: `tool_use` ids without `tool_result` blocks: {open_ids}")
            open_ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            for at, block in enumerate(message["content"]):
                if block["type"] == "text" and not block["text"].strip():
                    return self._invalid(f"messages.{place}: text content blocks must be non-empty")
                if block["type"] == "thinking" and block != self.sent.get(block.get("signature", "")):
                    return self._invalid(f"messages.{place}.content.{at}: Invalid `signature` in `thinking` block")
        return None

    def _invalid(self, message: str) -> Answer:
        said = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
        return Answer(400, json.dumps(said).encode())

    async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> AsyncIterator[bytes | None]:
        for event in self._events(chat, reply):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _events(self, chat: ChatRequest, reply: Reply) -> Iterable[Body]:
        number = next(iter(self.numbers))
        usage = {"input_tokens": 9, "cache_read_input_tokens": chat.tokens, "output_tokens": 1}
        yield {"type": "message_start", "message": {"role": "assistant", "usage": usage}}
        yield {"type": "ping"}
        thought = {"type": "thinking", "thinking": f"Hm {number}.", "signature": f"sig{number}"}
        self.sent[f"sig{number}"] = thought
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
        yield {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": f"Hm {number}."},
        }
        yield {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": f"sig{number}"},
        }
        yield {"type": "content_block_stop", "index": 0}
        text = get_reply_text(reply)
        if text:
            yield {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
            for at in range(0, len(text), 7):
                yield {
                    "type": "content_block_delta",
                    "index": 1,
                    "delta": {"type": "text_delta", "text": text[at : at + 7]},
                }
        calls = list_calls(chat, reply)
        for index, (name, arguments) in enumerate(calls, 2):
            block = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for part in (arguments[:5], arguments[5:]):
                delta = {"type": "input_json_delta", "partial_json": part}
                yield {"type": "content_block_delta", "index": index, "delta": delta}
        reason = "tool_use" if calls else "end_turn"
        yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 12}}
        yield {"type": "message_stop"}


PERSONALITIES: dict[str, Callable[[], Personality]] = {
    "plain": Personality,
    "gpt-5.5": lambda: EarlierOpenAI("gpt-5.5"),
    "gpt-6 with responses": lambda: LaterOpenAI("gpt-6-luna", has_responses=True),
    "gpt-6 without responses": lambda: LaterOpenAI("gpt-5.6-terra"),
    "gpt-6 astra": lambda: ResponsesOnly("gpt-6-astra", has_responses=True),
    "deepseek": lambda: DeepSeek("deepseek-v4-pro"),
    "kimi": lambda: Kimi("kimi-k3"),
    "gemini": lambda: Gemini("gemini-3.8-flash"),
    "claude": lambda: Claude("claude-sonnet-5-5"),
    "claude natively": lambda: NativeClaude("claude-sonnet-5-5"),
    "openrouter": lambda: OpenRouter("anthropic/claude-sonnet-5.5"),
    "mistral": lambda: Mistral("mistral-medium-3"),
    "qwen in ollama": lambda: Qwen("qwen3.7:8b"),
    "closing tag only": lambda: ClosingTagOnly("qwen3.6"),
    "one json object": lambda: WholeJson("phi-5"),
    "calls without ids": lambda: NoIds("glm-5.2"),
}


def create_error(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    kind: str = "invalid_request_error",
    **more: object,
) -> Answer:
    """Return an error in OpenAI's form."""
    return Answer(
        status, json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code} | more}).encode()
    )


def create_delta(change: Body, finish: str | None = None) -> Body:
    """Return a chunk with a change of the message."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": change, "finish_reason": finish}]}


def get_reply_text(reply: Reply) -> str:
    """Return the text of a reply."""
    return reply.text if isinstance(reply, Says | Calls) else ""


def list_calls(chat: ChatRequest, reply: Reply) -> list[tuple[str, str]]:
    """Return the names and arguments of the calls in a reply."""
    return [(n, reply.arguments_for(chat, n, a)) for n, a in reply.calls] if isinstance(reply, Calls) else []


def get_first_call_id(message: Body) -> str:
    """Return the id of the first call of a message."""
    return str(message["tool_calls"][0]["id"])


def find_gemini_dislike(schema: Any, path: str) -> str | None:
    """Return the part of a schema that Gemini refuses, or None."""
    if not isinstance(schema, dict):
        return None
    if path == "parameters" and {"anyOf", "oneOf", "allOf"} & schema.keys():
        return f"{path}.any_of: only allowed below the top level."
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        return f"{path}.items: missing field."
    for name, inner in schema.get("properties", {}).items():
        if wrong := find_gemini_dislike(inner, f"{path}.properties[{name}]"):
            return wrong
    return find_gemini_dislike(schema.get("items"), f"{path}.items") if "items" in schema else None
