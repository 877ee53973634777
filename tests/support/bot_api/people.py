"""Actions of people in Telegram as updates for the bot."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from tests.support.bot_api.chats import Chat, ChatType
from tests.support.bot_api.files import SentFile
from tests.support.bot_api.methods import Methods
from tests.support.bot_api.params import JsonObject
from tests.support.bot_api.text import Entity, utf16_length

_MARKED = re.compile(
    r"(?<!\S)(?P<bot_command>/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)(?![\w/@])"
    r"|(?<![\w@])(?P<mention>@[A-Za-z][A-Za-z0-9_]{3,31})(?!\w)"
)
_DAY = 86_400
_ADMIN: JsonObject = {"id": 3003, "is_bot": False, "first_name": "Carol"}


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message from a person: a text, a file with an optional caption, or the content of `fields`."""

    text: str | None
    chat_id: int
    user_id: int
    first_name: str
    username: str | None
    language_code: str
    chat_type: ChatType
    chat_title: str
    thread_id: int | None
    reply_to_message_id: int | None
    reply_to_bot: bool
    forwarded: bool
    edit_of: int | None
    sends: SentFile | None
    caption: str | None
    fields: JsonObject
    ephemeral: bool = False


def say(methods: Methods, said: Utterance) -> tuple[int, int]:
    """Add the message to its chat, queue the update and return both ids."""
    if said.text is not None and said.sends is not None:
        problem = "a message has either a text or a file"
        raise ValueError(problem)
    name = said.first_name if said.chat_type == "private" else said.chat_title
    chat = methods.chats.register(said.chat_id, said.chat_type, name)
    if said.thread_id is not None:
        chat.threads.add(said.thread_id)
    message = _edited(methods, chat, said) if said.edit_of is not None else _new(methods, chat, said)
    if said.ephemeral:
        message = chat.put_ephemeral(message, methods.bot_user)
        methods.newer.actions[str(message["ephemeral_message_id"])] = said.user_id
        return methods.updates.add("message", message), 0
    chat.put(message)
    kind = "message" if said.edit_of is None else "edited_message"
    return methods.updates.add(kind, message), message["message_id"]


def press(methods: Methods, *, data: str, message_id: int, chat_id: int, user_id: int, ephemeral: bool = False) -> int:
    """Press a button below a message of the bot and return the update id.

    Only this person sees an `ephemeral` message. Telegram does not guarantee that the message still has a button with
    this data, so the function does not check it.
    """
    chat = methods.chats.get(chat_id)
    if chat is None or (not ephemeral and message_id > chat.last_message_id):
        problem = f"there never was a message {message_id} in chat {chat_id}"
        raise ValueError(problem)
    inaccessible = {"chat": chat.as_json(), "message_id": message_id, "date": 0}
    query_id = str(4_382_913_201_880_000_000 + len(methods.callback_queries))
    methods.callback_queries[query_id] = False
    methods.newer.actions[query_id] = user_id
    shown = chat.ephemeral if ephemeral else chat.messages
    query: JsonObject = {
        "id": query_id,
        "from": {"id": user_id, "is_bot": False, "first_name": chat.name if chat_id == user_id else "Ann"},
        "message": shown.get(message_id, inaccessible),
        "chat_instance": str(-7_000_000_000 - abs(chat_id)),
        "data": data,
    }
    return methods.updates.add("callback_query", query)


def stop(methods: Methods, chat_id: int) -> int:
    """Press Stop below the draft in a chat and return the update id."""
    chat = methods.chats.get(chat_id)
    if chat is None or chat.stoppable is None:
        problem = f"no draft in chat {chat_id} can be stopped"
        raise ValueError(problem)
    stopped: JsonObject = {"chat": chat.as_json(), "draft_id": chat.stoppable}
    chat.stoppable = None
    return methods.updates.add("stopped_message_generation", stopped)


def call_guest(methods: Methods, text: str, *, chat_id: int, user_id: int, quoted: JsonObject | None) -> str:
    """Mention the bot in a chat without it and return the query."""
    query = str(7_700_000_000_000 + len(methods.newer.guest_queries))
    methods.newer.guest_queries[query] = ""
    kind = "private" if chat_id > 0 else "supergroup"
    message: JsonObject = {
        "message_id": 4711,
        "date": int(time.time()),
        "chat": {"id": chat_id, "type": kind, "first_name" if kind == "private" else "title": "Others"},
        "from": {"id": user_id, "is_bot": False, "first_name": "Ann", "language_code": "en"},
        "text": text,
        "entities": marked(text),
        "guest_query_id": query,
    }
    methods.updates.add("guest_message", message | ({"reply_to_message": quoted} if quoted else {}))
    return query


def move(methods: Methods, former: int, present: int) -> JsonObject:
    """Return the last message of a group that becomes the supergroup `present`."""
    chat = methods.chats.get(former)
    if chat is None or chat.chat_type != "group":
        problem = f"there is no group {former}"
        raise ValueError(problem)
    methods.chats.register(present, "supergroup", chat.name)
    chat.moved_to = present
    return chat.put(chat.new_message(_ADMIN) | {"migrate_to_chat_id": present})


def create_moved_message(methods: Methods, former: int, present: int) -> JsonObject:
    """Return the first message of the supergroup that the group `former` became."""
    chat = methods.chats.register(present, "supergroup", "")
    return chat.put(chat.new_message(_ADMIN) | {"migrate_from_chat_id": former})


def add_bot(methods: Methods, group: int, user: int, *, again: bool) -> JsonObject:
    """Return the update for adding the bot to a group. With `again`, the bot is a member and becomes administrator."""
    chat = methods.chats.register(group, "supergroup", "Some people")
    status = ("member", "administrator") if again else ("left", "member")
    rights = dict.fromkeys(
        (
            "can_be_edited",
            "is_anonymous",
            "can_manage_chat",
            "can_delete_messages",
            "can_manage_video_chats",
            "can_restrict_members",
            "can_promote_members",
            "can_change_info",
            "can_invite_users",
            "can_post_stories",
            "can_edit_stories",
            "can_delete_stories",
        ),
        False,
    )
    members = [{"user": methods.bot_user, "status": each} for each in status]
    return {
        "chat": chat.as_json(),
        "from": {"id": user, "is_bot": False, "first_name": "Ann"},
        "date": int(time.time()),
        "old_chat_member": members[0],
        "new_chat_member": members[1] | (rights if again else {}),
    }


def marked(text: str) -> list[JsonObject]:
    """Return the commands and mentions in a text."""
    return [
        Entity(found.lastgroup or "", utf16_length(text[: found.start()]), utf16_length(found[0])).as_json()
        for found in _MARKED.finditer(text)
    ]


def _new(methods: Methods, chat: Chat, said: Utterance) -> JsonObject:
    message = chat.new_message(_person(said), thread_id=said.thread_id) | _content(methods, said)
    if said.forwarded:
        message["forward_origin"] = {
            "type": "user",
            "date": int(time.time()) - _DAY,
            "sender_user": {"id": said.user_id + 1, "is_bot": False, "first_name": "Elsewhere"},
        }
    replied = said.reply_to_message_id
    if said.reply_to_bot:
        replied = max(known.message_id for known in chat.list_bot_messages())
    if replied is not None:
        message["reply_to_message"] = chat.quote(replied)
    return message | said.fields


def _edited(methods: Methods, chat: Chat, said: Utterance) -> JsonObject:
    before = chat.messages[said.edit_of or 0]
    if before["from"]["id"] != said.user_id:
        problem = f"message {said.edit_of} is not by user {said.user_id}"
        raise ValueError(problem)
    replaced = {"text", "entities", "photo", "document", "caption", "caption_entities"}
    kept = {key: value for key, value in before.items() if key not in replaced}
    return kept | _content(methods, said) | {"edit_date": int(time.time())}


def _person(said: Utterance) -> JsonObject:
    person: JsonObject = {
        "id": said.user_id,
        "is_bot": False,
        "first_name": said.first_name,
        "language_code": said.language_code,
    }
    if said.username is not None:
        person["username"] = said.username
    return person


def _content(methods: Methods, said: Utterance) -> JsonObject:
    content: JsonObject = {}
    if said.sends is not None:
        content |= methods.files.build_fields(said.sends)
    for field, entities, text in (
        ("text", "entities", said.text),
        ("caption", "caption_entities", said.caption),
    ):
        if text is not None:
            content[field] = text
            if found := marked(text):
                content[entities] = found
    return content
