"""A local Bot API server, as strict as Telegram's, that tests can script and inspect.

It serves plain HTTP, so the bot under test can run in this process or in a separate one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Self, TypeVar
from urllib.parse import unquote

from tests.support.bot_api.calls import Call
from tests.support.bot_api.chats import BotMessage, ChatType
from tests.support.bot_api.faults import Fault, Faults
from tests.support.bot_api.files import Files, SentFile
from tests.support.bot_api.files import create_photo as a_photo
from tests.support.bot_api.keyboards import choose_people
from tests.support.bot_api.methods import Methods
from tests.support.bot_api.params import ApiError, JsonObject, read_params
from tests.support.bot_api.people import (
    Utterance,
    add_bot,
    call_guest,
    create_moved_message,
    move,
    press,
    say,
    stop,
)
from tests.support.bot_api.profile import Command
from tests.support.bot_api.supported import Supported
from tests.support.bot_api.webhook import Courier
from tests.support.servers.web import Answer, Request, WebServer

_Found = TypeVar("_Found")
DOWNLOAD = "download"
"""The method name of file downloads in calls and faults."""
_TOLD = 30
"""Number of recent calls in the error message of a failed wait."""


class BotApiServer:
    """Telegram as one bot sees it."""

    TOKEN = "1234567:TEST-token-for-a-local-server-only"

    def __init__(self, token: str = TOKEN, username: str = "mneme_test_bot") -> None:
        self.token = token
        self.calls: list[Call] = []
        self._methods = Methods(
            {
                "id": int(token.partition(":")[0]),
                "is_bot": True,
                "first_name": "Mneme",
                "username": username,
                "can_join_groups": True,
                "can_read_all_group_messages": False,
                "supports_inline_queries": False,
            }
        )
        self._faults = Faults()
        self._message_ids: dict[int, int] = {}
        self._changed = asyncio.Event()
        self._web = WebServer(self._handle)
        self._courier = Courier(self._methods.updates, self._notify)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_details: object) -> None:
        await self.stop()
        if kind is None and self._web.crashes:
            raise self._web.crashes[0]

    async def start(self) -> None:
        """Listen. After a stop, use the same port and keep all data."""
        await self._web.start()

    async def stop(self) -> None:
        """Refuse new connections and cut existing ones."""
        await self._web.stop()
        self._courier.stop()

    def sends_to(self, front: str) -> None:
        """Send updates to the webhook from now on, which is reached at `front`."""
        self._courier.start(front)

    @property
    def webhook_error(self) -> str:
        """Return the reason why the webhook refused the last update."""
        return self._methods.updates.webhook_error

    @property
    def url(self) -> str:
        """Return the address without a slash at the end. PTB's base_url is this and `/bot`."""
        return f"http://127.0.0.1:{self._web.port}"

    def be_ahead(self, seconds: float) -> None:
        """Move the server's clock ahead of this machine's."""
        self._web.ahead = seconds

    # -- people --------------------------------------------------------------------------------------------

    def user_says(
        self,
        text: str | None = None,
        *,
        chat_id: int,
        user_id: int | None = None,
        first_name: str = "Ann",
        username: str | None = None,
        language_code: str = "en",
        chat_type: ChatType = "private",
        chat_title: str = "Some people",
        thread_id: int | None = None,
        reply_to_message_id: int | None = None,
        reply_to_bot: bool = False,
        forwarded: bool = False,
        edit_of: int | None = None,
        photo: bool = False,
        sends: SentFile | None = None,
        album: str | None = None,
        caption: str | None = None,
        fields: JsonObject | None = None,
        ephemeral: bool = False,
    ) -> int:
        """Send a message from a person, or edit the message `edit_of`, and return the update id.

        `sends` is an attached file, and `fields` are additional fields in Bot API format. Only the bot sees an
        `ephemeral` message, such as a command that the menu marks as ephemeral.
        """
        if user_id is None and chat_type != "private":
            problem = "in a group, say who is writing"
            raise ValueError(problem)
        said = Utterance(
            text=text,
            chat_id=chat_id,
            user_id=chat_id if user_id is None else user_id,
            first_name=first_name,
            username=username,
            language_code=language_code,
            chat_type=chat_type,
            chat_title=chat_title,
            thread_id=thread_id,
            reply_to_message_id=reply_to_message_id,
            reply_to_bot=reply_to_bot,
            forwarded=forwarded,
            edit_of=edit_of,
            sends=a_photo() if photo else sends,
            caption=caption,
            fields=(fields or {}) | ({"media_group_id": album} if album else {}),
            ephemeral=ephemeral,
        )
        update_id, message_id = say(self._methods, said)
        self._message_ids[update_id] = message_id
        self._notify()
        return update_id

    def spoil(self, update_id: int, field: str, value: object) -> None:
        """Make the message of a pending update unreadable for clients."""
        self._methods.updates.spoil(update_id, field, value)

    def delivers_again(self, update_id: int) -> int:
        """Queue the content of an update again and return the new update id."""
        again = self._methods.updates.add_again(update_id)
        self._notify()
        return again

    def renumber(self, update_id: int, number: int) -> None:
        """Give a pending update another id."""
        self._methods.updates.renumber(update_id, number)

    def user_presses(self, data: str, message_id: int, chat_id: int, user_id: int, *, ephemeral: bool = False) -> int:
        """Press a button below a message of the bot and return the update id.

        Only this person sees an `ephemeral` message.
        """
        update_id = press(
            self._methods, data=data, message_id=message_id, chat_id=chat_id, user_id=user_id, ephemeral=ephemeral
        )
        self._notify()
        return update_id

    def user_stops(self, chat_id: int) -> int:
        """Press Stop below the draft of an answer and return the update id."""
        update_id = stop(self._methods, chat_id)
        self._notify()
        return update_id

    def find_message_id(self, update_id: int) -> int:
        """Return the id of the message in an update."""
        return self._message_ids[update_id]

    def register_chat(self, chat_id: int, *, chat_type: ChatType = "private", name: str = "Ann") -> None:
        """Let the bot know a chat without messages."""
        self._methods.chats.register(chat_id, chat_type, name)

    def register_thread(self, chat_id: int, thread_id: int) -> None:
        """Open a thread in a known chat."""
        chat = self._methods.chats.get(chat_id)
        if chat is None:
            raise KeyError(chat_id)
        chat.threads.add(thread_id)

    def user_opens_topic(self, chat_id: int, thread_id: int, name: str | None = None) -> int:
        """Open a topic in a private chat, with a name or with the one of Telegram, and return the update id."""
        chat = self._methods.chats.get_known(chat_id)
        chat.topic_names[thread_id] = name or "New Chat"
        created: JsonObject = {"name": chat.topic_names[thread_id], "icon_color": 7_322_096}
        if name is None:
            created["is_name_implicit"] = True
        return self.user_says(chat_id=chat_id, thread_id=thread_id, fields={"forum_topic_created": created})

    def user_renames_topic(self, chat_id: int, thread_id: int, name: str) -> int:
        """Rename a topic in a private chat and return the update id."""
        self._methods.chats.get_known(chat_id).topic_names[thread_id] = name
        return self.user_says(chat_id=chat_id, thread_id=thread_id, fields={"forum_topic_edited": {"name": name}})

    def get_topic_name(self, chat_id: int, thread_id: int) -> str:
        """Return the name of a topic."""
        return self._methods.chats.get_known(chat_id).topic_names[thread_id]

    def delete_thread(self, chat_id: int, thread_id: int) -> None:
        """Delete a thread of a chat, so that nothing can be sent there."""
        self._methods.chats.get_known(chat_id).threads.discard(thread_id)

    def forbid(self, chat_id: int, reason: str | None) -> None:
        """Refuse what the bot sends to a chat, with that description, until it is called with None."""
        self._methods.chats.get_known(chat_id).forbids = reason

    def forbid_reactions(self, chat_id: int) -> None:
        """Forbid reactions in a known chat."""
        chat = self._methods.chats.get(chat_id)
        if chat is None:
            raise KeyError(chat_id)
        chat.takes_reactions = False

    def forbid_voice_messages(self, chat_id: int) -> None:
        """Forbid voice messages in a known chat."""
        chat = self._methods.chats.get(chat_id)
        if chat is None:
            raise KeyError(chat_id)
        chat.refuses_voice = True

    def owns(self, user_id: int, chat_id: int) -> None:
        """Make a person the owner of a group."""
        self._methods.owners.add((chat_id, user_id))

    def user_calls_guest(self, text: str, *, chat_id: int, user_id: int, quoted: JsonObject | None = None) -> str:
        """Mention the bot in a chat without it, optionally in reply to `quoted`, and return the query."""
        query = call_guest(self._methods, text, chat_id=chat_id, user_id=user_id, quoted=quoted)
        self._notify()
        return query

    @property
    def guest_answers(self) -> dict[str, str]:
        """Return the answers to guest queries."""
        return {query: text for query, text in self._methods.newer.guest_queries.items() if text}

    def promotes_bot(self, chat_id: int, *, administrator: bool = True) -> None:
        """Make the bot an administrator of a group, or revoke that."""
        chat = self._methods.chats.get(chat_id)
        if chat is None:
            raise KeyError(chat_id)
        chat.bot_is_administrator = administrator

    def lets_actions_pass(self) -> None:
        """Let more than 15 seconds pass since the last press or ephemeral message."""
        self._methods.newer.actions.clear()

    def group_becomes(self, former: int, present: int, told: Sequence[str] = ("former", "present")) -> None:
        """Turn a group into a supergroup with a new id. Queue the updates of the chats in `told`, in order."""
        messages = {
            "former": move(self._methods, former, present),
            "present": create_moved_message(self._methods, former, present),
        }
        for where in told:
            self._methods.updates.add("message", messages[where])
        self._notify()

    def user_reacts(self, emoji: str, message_id: int, *, chat_id: int, user_id: int | None = None) -> int:
        """React to a message as its only reaction, and return the update id."""
        chat, user = self._methods.chats.get_known(chat_id), chat_id if user_id is None else user_id
        update_id = self._methods.updates.add(
            "message_reaction",
            {
                "chat": chat.as_json(),
                "message_id": message_id,
                "user": {"id": user, "is_bot": False, "first_name": "Ann"},
                "date": 1_770_000_000,
                "old_reaction": [],
                "new_reaction": [{"type": "emoji", "emoji": emoji}],
            },
        )
        self._notify()
        return update_id

    def user_chooses(self, label: str, people: dict[int, JsonObject], *, chat_id: int) -> int:
        """Choose people with a button of the chat's keyboard and return the update id.

        `people` are the fields of their names by user id.
        """
        chosen = choose_people(self._methods.chats.get_known(chat_id), label, people)
        return self.user_says(chat_id=chat_id, fields={"users_shared": chosen})

    def list_keyboard(self, chat_id: int) -> list[str]:
        """Return the labels of the reply keyboard in a chat."""
        return [button["text"] for button in self._methods.chats.get_known(chat_id).keyboard]

    def adds_bot(self, chat_id: int, user_id: int, *, again: bool = False) -> int:
        """Add the bot to a group, or make it an administrator, and return the update id."""
        update_id = self._methods.updates.add("my_chat_member", add_bot(self._methods, chat_id, user_id, again=again))
        self._notify()
        return update_id

    # -- what the bot did ----------------------------------------------------------------------------------

    @property
    def menu_button(self) -> JsonObject:
        """Return the action of the menu button."""
        return self._methods.profile.menu_button

    def list_sent(self, chat_id: int) -> list[BotMessage]:
        """Return the bot's messages in the chat in their latest version, without deleted ones."""
        chat = self._methods.chats.get(chat_id)
        return [] if chat is None else chat.list_bot_messages()

    def list_ephemeral(self, chat_id: int, user_id: int) -> list[BotMessage]:
        """Return the bot's ephemeral messages for one person in a group."""
        chat = self._methods.chats.get(chat_id)
        return [] if chat is None else chat.list_ephemeral(user_id)

    def ephemeral_message(self, chat_id: int, number: int) -> JsonObject:
        """Return an ephemeral message as in the Bot API."""
        chat = self._methods.chats.get(chat_id)
        if chat is None:
            raise KeyError(chat_id)
        return chat.ephemeral[number]

    @property
    def files(self) -> Files:
        """Return the files that people have sent."""
        return self._methods.files

    @property
    def documents(self) -> list[bytes]:
        """Return the contents of the files that the bot has sent, in order."""
        return list(self._methods.documents.values())

    def list_drafts(self, chat_id: int) -> list[str]:
        """Return the drafts in the chat, in order."""
        chat = self._methods.chats.get(chat_id)
        return [] if chat is None else list(chat.drafts)

    def list_reactions(self, chat_id: int) -> dict[int, str]:
        """Return the bot's current reactions in the chat by message id."""
        chat = self._methods.chats.get(chat_id)
        return {} if chat is None else dict(chat.reactions)

    def list_calls(self, method: str) -> list[Call]:
        """Return the calls of one method, in order."""
        return [call for call in self.calls if call.method == method]

    @property
    def commands(self) -> list[Command]:
        """Return the default commands."""
        return self.list_commands()

    def list_commands(self, scope: str = "default", language_code: str = "") -> list[Command]:
        """Return the commands of a scope type and a language."""
        return list(self._methods.profile.commands.get((json.dumps({"type": scope}), language_code), []))

    @property
    def about(self) -> dict[str, str]:
        """Return the bot's description and short description."""
        return self._methods.profile.about

    def get_about(self, language_code: str) -> dict[str, str]:
        """Return the description and short description in a language."""
        return self._methods.profile.about_in.get(language_code, {})

    @property
    def pending_update_ids(self) -> list[int]:
        """Return the unconfirmed update ids."""
        return [update["update_id"] for update in self._methods.updates.pending]

    @property
    def polled(self) -> bool:
        """Return whether a long poll is waiting."""
        return self._methods.updates.polled

    async def wait_for(self, found: Callable[[], _Found], timeout: float = 20) -> _Found:  # noqa: ASYNC109 - says what was missing
        """Call `found` after each event until its result is true, and return it."""
        try:
            async with asyncio.timeout(timeout):
                while not (result := found()):
                    await self._changed.wait()
        except TimeoutError:
            log = "\n".join(f"  {call}" for call in self.calls[-_TOLD:]) or "  none"
            problem = f"did not happen within {timeout} s; the last of {len(self.calls)} calls:\n{log}"
            problem += "".join(f"\n  the server itself failed: {crash!r}" for crash in self._web.crashes)
            raise AssertionError(problem) from None
        return result

    # -- trouble -------------------------------------------------------------------------------------------

    @property
    def supports(self) -> Supported:
        """Return the features of this server, which tests can switch off."""
        return self._methods.supported

    @property
    def is_of_version_10(self) -> bool:
        """Whether this server supports the Bot API newer than version 9."""
        return self._methods.newer.served

    @is_of_version_10.setter
    def is_of_version_10(self, served: bool) -> None:
        self._methods.newer.served = served

    @property
    def bot(self) -> JsonObject:
        """Return the bot as getMe shows it. Tests may change its fields."""
        return self._methods.bot

    def fault(
        self,
        method: str,
        *,
        error_code: int = 429,
        retry_after: int = 1,
        times: int | None = 1,
        description: str | None = None,
        stall: bool = False,
        drop: bool = False,
        html: bool = False,
        applied: bool = False,
        late: asyncio.Event | None = None,
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> None:
        """Make the next calls of a method fail. The method `*` stands for all methods.

        The fault affects `times` calls, or all calls for `seconds`. If both are None, it lasts until clear_faults().
        By default the response is an error. With `stall` there is no response, with `drop` the connection is closed,
        and `html` or `body` replaces the response. With `applied` the call takes effect, and only its response is
        lost. With `late` the call takes effect, and its response waits for that event.
        """
        self._faults.add(
            Fault(
                method=self._methods.name(method),
                error_code=error_code,
                retry_after=retry_after,
                description=description,
                stall=stall,
                drop=drop,
                html=html,
                applied=applied,
                left=times if seconds is None else None,
                late=late,
                body=body,
                until=None if seconds is None else time.monotonic() + seconds,
            )
        )

    def clear_faults(self) -> None:
        """Remove all scripted faults."""
        self._faults.clear()

    # -- serving -------------------------------------------------------------------------------------------

    async def _handle(self, request: Request) -> Answer | None:
        path = unquote(request.target.partition("?")[0])
        if path.startswith("/file/bot"):
            return await self._download(path.removeprefix("/file/bot"))
        token, _, method = path.removeprefix("/bot").partition("/")
        call = Call(self._methods.name(method), {}, time.monotonic())
        self.calls.append(call)
        try:
            if not path.startswith("/bot") or not method:
                raise ApiError(404, "Not Found")
            if token != self.token:
                raise ApiError(401, "Unauthorized")
            return await self._carry_out(call, request)
        except ApiError as error:
            return _respond(call, error.as_json())
        finally:
            # also reached when the client left in the middle of it
            self._notify()

    async def _download(self, wanted: str) -> Answer | None:
        token, _, path = wanted.partition("/")
        call = Call(DOWNLOAD, {"path": path}, time.monotonic())
        self.calls.append(call)
        try:
            if token != self.token:
                raise ApiError(401, "Unauthorized")
            if (fault := self._faults.take_next(DOWNLOAD)) is not None:
                return await self._go_wrong(call, fault)
            content = self._methods.files.download(path)
        except ApiError as error:
            return _respond(call, error.as_json())
        finally:
            self._notify()
        call.response = {"ok": True, "result": len(content)}
        return Answer(200, content, content_type="application/octet-stream")

    async def _carry_out(self, call: Call, request: Request) -> Answer | None:
        call.params = read_params(request)
        fault = self._faults.take_next(call.method)
        self._notify()
        if fault is not None:
            return await self._go_wrong(call, fault)
        result = await self._methods.run(call.method, call.params)
        return _respond(call, {"ok": True, "result": result})

    async def _go_wrong(self, call: Call, fault: Fault) -> Answer | None:
        if fault.late is not None:
            result = await self._methods.run(call.method, call.params)
            self._notify()
            await fault.late.wait()
            return _respond(call, {"ok": True, "result": result})
        if fault.applied:
            await self._methods.run(call.method, call.params)
            self._notify()
        if fault.stall:
            # until the client gives up or the server stops
            await asyncio.get_running_loop().create_future()
        if fault.drop:
            return None
        if fault.body is not None:
            return Answer(200, fault.body)
        if fault.html:
            return Answer(fault.error_code, fault.page(), content_type="text/html")
        raise fault.error()

    def _notify(self) -> None:
        """Wake all waiting tasks."""
        self._changed.set()
        self._changed = asyncio.Event()


def _respond(call: Call, response: JsonObject) -> Answer:
    call.response = response
    retry_after = response.get("parameters", {}).get("retry_after")
    return Answer(response.get("error_code", 200), json.dumps(response).encode(), retry_after=retry_after)
