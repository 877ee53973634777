"""The Bot API methods that Mneme calls, with Telegram's conditions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from tests.support.bot_api.chats import Chat, Chats, check_markup, fill_markup, fill_rich, fill_text
from tests.support.bot_api.files import Files
from tests.support.bot_api.keyboards import show_keyboard
from tests.support.bot_api.params import ApiError, JsonObject, Upload, create_bad_request, read_integer
from tests.support.bot_api.profile import Profile
from tests.support.bot_api.supported import Supported
from tests.support.bot_api.text import check_text, formatted_text, parse_entities, trimmed, utf16_length
from tests.support.bot_api.updates import UpdateQueue
from tests.support.bot_api.version_10 import Version10, read_rich_content

MAX_CAPTION_CHARS = 1024
MAX_TOPIC_CHARS = 128
MAX_PHOTO_BYTES = 10 * 1024 * 1024
_PHOTOS = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"RIFF")
_ACTIONS = frozenset(
    [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ]
)
_REACTIONS = frozenset(
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u200d🔥 🌚 🌭 💯 🤣 "
    "⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 "
    "🦄 😘 💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡".split()
)
"""The emoji that bots may react with: https://core.telegram.org/bots/api#reactiontypeemoji"""
_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a "
    "current content and reply markup of the message"
)


class Methods:
    """The state of one bot at Telegram, and the methods on it."""

    def __init__(self, bot: JsonObject) -> None:
        self.bot = bot
        self.chats = Chats()
        self.updates = UpdateQueue()
        self.callback_queries: dict[str, bool] = {}  # whether each was answered
        self.documents: dict[str, bytes] = {}
        self.files = Files()
        self.supported = Supported()
        self.newer = Version10(self.chats)
        self.profile = Profile(bot, self.newer)
        self.owners: set[tuple[int, int]] = set()
        self._methods: dict[str, Callable[[JsonObject], Any]] = {
            "answerCallbackQuery": self._answer_callback_query,
            "deleteMessage": self._delete_message,
            "deleteWebhook": self._delete_webhook,
            "editForumTopic": self._edit_forum_topic,
            "editMessageReplyMarkup": self._edit_message_reply_markup,
            "editMessageText": self._edit_message_text,
            "getBusinessConnection": self._get_business_connection,
            "getChatMember": self._get_chat_member,
            "getFile": self.files.get_file,
            "getMe": lambda _params: self.bot,
            "getWebhookInfo": self._get_webhook_info,
            "sendChatAction": self._send_chat_action,
            "sendDocument": self._send_document,
            "sendMessage": self._send_message,
            "sendPhoto": self._send_photo,
            "sendRichMessage": self._send_rich_message,
            "sendMessageDraft": self._send_message_draft,
            "sendVoice": self._send_voice,
            "setMessageReaction": self._set_message_reaction,
            "setWebhook": self._set_webhook,
            **self.newer.methods,
            **self.profile.methods,
        }
        self._names = {name.lower(): name for name in (*self._methods, "getUpdates")}

    def name(self, method: str) -> str:
        """Return the method name in the spelling of the Bot API, ignoring case."""
        return self._names.get(method.lower(), method)

    async def run(self, method: str, params: JsonObject) -> Any:
        """Return the result of a method."""
        if method == "getUpdates":
            return await self.updates.get_updates(params)
        handler = self._methods.get(method)
        if handler is None:
            raise ApiError(404, "Not Found")
        self.supported.check(method, params)
        self.newer.check(method, params)
        return handler(params)

    # -- messages ------------------------------------------------------------------------------------------

    def _new_message(self, chat: Chat, params: JsonObject) -> JsonObject:
        """Return a message of the bot in its thread, with its replied message but without content."""
        message = chat.new_message(self.bot_user, thread_id=chat.check_thread(params.get("message_thread_id")))
        replied = _find_replied_message(chat, params)
        if replied is not None:
            message["reply_to_message"] = chat.quote(replied)
        return message

    def _send_message(self, params: JsonObject) -> JsonObject:
        formatted = formatted_text(params)
        markup = check_markup(params.get("reply_markup"))
        chat = self.chats.get_named(params)
        message = self._new_message(chat, params)
        filled = fill_text(message, check_text(formatted), markup)
        if self.supported.people:
            show_keyboard(chat, markup)
        return self.newer.put(chat, filled, params)

    def _send_rich_message(self, params: JsonObject) -> JsonObject:
        chat = self.chats.get_named(params)
        markdown, markup = read_rich_content(params), check_markup(params.get("reply_markup"))
        message = self._new_message(chat, params)
        return chat.put(fill_rich(message, markdown, markup))

    def _new_captioned(self, params: JsonObject) -> tuple[Chat, JsonObject, JsonObject | None]:
        """Create a message with the caption of a file, and check its markup."""
        caption = trimmed(parse_entities(params.get("caption", ""), params.get("caption_entities", [])))
        if utf16_length(caption.text) > MAX_CAPTION_CHARS:
            raise create_bad_request("message caption is too long")
        markup = check_markup(params.get("reply_markup"))
        chat = self.chats.get_named(params)
        message = self._new_message(chat, params)
        if caption.text:
            message["caption"] = caption.text
            message["caption_entities"] = [entity.as_json() for entity in caption.entities]
        return chat, message, markup

    def _send_document(self, params: JsonObject) -> JsonObject:
        document = params.get("document")
        if not isinstance(document, Upload) or not document.content:
            raise create_bad_request("file must be non-empty")
        chat, message, markup = self._new_captioned(params)
        file_id = f"BQACAgIAAx-{message['message_id']}"
        shown = {"file_id": file_id, "file_unique_id": file_id, "file_name": document.name}
        self.documents[file_id] = document.content
        filled = fill_markup(message | {"document": shown | {"file_size": len(document.content)}}, markup)
        return self.newer.put(chat, filled, params)

    def _send_photo(self, params: JsonObject) -> JsonObject:
        photo = params.get("photo")
        if not isinstance(photo, Upload) or not photo.content:
            raise create_bad_request("file must be non-empty")
        if len(photo.content) > MAX_PHOTO_BYTES:
            raise create_bad_request("file is too big for a photo")
        if not photo.content.startswith(_PHOTOS):
            raise create_bad_request("IMAGE_PROCESS_FAILED")
        chat, message, markup = self._new_captioned(params)
        file_id = f"AgACAgIAAx-{message['message_id']}"
        self.documents[file_id] = photo.content
        size = {"file_id": file_id, "file_unique_id": file_id, "width": 640, "height": 480}
        return chat.put(fill_markup(message | {"photo": [size | {"file_size": len(photo.content)}]}, markup))

    def _send_voice(self, params: JsonObject) -> JsonObject:
        voice = params.get("voice")
        if not isinstance(voice, Upload) or not voice.content:
            raise create_bad_request("file must be non-empty")
        chat = self.chats.get_named(params)
        if chat.refuses_voice:
            raise create_bad_request("user restricted receiving of voice messages")
        message = self._new_message(chat, params)
        file_id = f"AwACAgIAAx-{message['message_id']}"
        self.documents[file_id] = voice.content
        shown = {"file_id": file_id, "file_unique_id": file_id, "duration": 0, "mime_type": "audio/ogg"}
        return chat.put(message | {"voice": shown | {"file_size": len(voice.content)}})

    def _send_message_draft(self, params: JsonObject) -> bool:
        formatted = formatted_text(params, may_be_empty=True)
        chat = self.chats.get_named(params)
        if chat.chat_type != "private":
            raise create_bad_request("TEXTDRAFT_PEER_INVALID")
        chat.check_thread(params.get("message_thread_id"))
        if not read_integer(params, "draft_id"):
            raise create_bad_request("DRAFT_ID_INVALID")
        kept = trimmed(formatted)
        if utf16_length(kept.text):
            check_text(kept, too_long="MESSAGE_TOO_LONG")
        chat.drafts.append(kept.text)
        chat.stoppable = read_integer(params, "draft_id") if params.get("can_stop") is True else None
        return True

    def _edit_message_text(self, params: JsonObject) -> JsonObject:
        if self.newer.served and "rich_message" in params:
            if params.keys() & {"text", "entities", "link_preview_options"}:
                raise create_bad_request("message must have either a text or a rich message")
            chat, message = self._own_message(params)
            markup = check_markup(params.get("reply_markup"))
            return self._edit(chat, message, fill_rich(message, read_rich_content(params), markup))
        formatted = formatted_text(params)
        markup = check_markup(params.get("reply_markup"))
        chat, message = self._own_message(params)
        if markup is not None and "inline_keyboard" not in markup:
            raise create_bad_request("inline keyboard expected")
        # unlike sendMessage, editing passes the name of the server's own error on
        kept = check_text(formatted, too_long="MESSAGE_TOO_LONG")
        return self._edit(chat, message, fill_text(message, kept, markup))

    def _edit_message_reply_markup(self, params: JsonObject) -> JsonObject:
        markup = check_markup(params.get("reply_markup"))
        chat, message = self._own_message(params)
        return self._edit(chat, message, fill_markup(message, markup))

    def _edit_forum_topic(self, params: JsonObject) -> bool:
        chat, name = self.chats.get_named(params), str(params.get("name", ""))
        thread = params.get("message_thread_id")
        if thread not in chat.threads:
            raise create_bad_request("TOPIC_ID_INVALID")
        if chat.chat_type != "private":  # the bot is an administrator nowhere
            raise create_bad_request("not enough rights to edit the topic")
        if utf16_length(name) > MAX_TOPIC_CHARS:
            raise create_bad_request("TOPIC_TITLE_TOO_LONG")
        if not name or chat.topic_names.get(thread) == name:
            raise create_bad_request("TOPIC_NOT_MODIFIED")
        chat.topic_names[thread] = name
        return True

    def _own_message(self, params: JsonObject) -> tuple[Chat, JsonObject]:
        chat = self.chats.get_named(params)
        message = chat.message(params.get("message_id"), "message to edit")
        if not message["from"]["is_bot"]:
            raise create_bad_request("message can't be edited")
        return chat, message

    def _edit(self, chat: Chat, message: JsonObject, changed: JsonObject) -> JsonObject:
        if changed == message:
            raise create_bad_request(_NOT_MODIFIED)
        return chat.put(changed | {"edit_date": int(time.time())})

    def _delete_message(self, params: JsonObject) -> bool:
        if "message_id" not in params:
            raise create_bad_request("message identifier is not specified")
        chat = self.chats.get_named(params)
        message = chat.message(params["message_id"], "message to delete")
        # the bot is an administrator nowhere
        if chat.chat_type != "private" and not message["from"]["is_bot"]:
            raise create_bad_request("message can't be deleted")
        del chat.messages[message["message_id"]]
        return True

    def _set_message_reaction(self, params: JsonObject) -> bool:
        wanted = params.get("reaction", [])
        if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
            raise create_bad_request("can't parse reaction types JSON object")
        if any(one.get("type") != "emoji" for one in wanted):
            raise create_bad_request("can't parse reaction types JSON object: unsupported type")
        chat = self.chats.get_named(params)
        message = chat.message(params.get("message_id"), "message to react")
        if len(wanted) > 1:  # a bot is not premium
            raise create_bad_request("REACTIONS_TOO_MANY")
        for emoji in (one.get("emoji") for one in wanted):
            if emoji not in _REACTIONS or not chat.takes_reactions:
                raise create_bad_request("REACTION_INVALID")
            chat.reactions[message["message_id"]] = emoji
        if not wanted:
            chat.reactions.pop(message["message_id"], None)
        return True

    def _send_chat_action(self, params: JsonObject) -> bool:
        if params.get("action") not in _ACTIONS:
            raise create_bad_request("wrong parameter action in request")
        self.chats.get_named(params).check_thread(params.get("message_thread_id"))
        return True

    def _answer_callback_query(self, params: JsonObject) -> bool:
        query = str(params.get("callback_query_id"))
        if self.callback_queries.get(query, True):
            raise create_bad_request("query is too old and response timeout expired or query ID is invalid")
        if len(params.get("text", "")) > 200:
            raise create_bad_request("MESSAGE_TOO_LONG")
        self.callback_queries[query] = True
        return True

    def _get_business_connection(self, _params: JsonObject) -> JsonObject:
        raise create_bad_request("BUSINESS_CONNECTION_INVALID")

    def _get_chat_member(self, params: JsonObject) -> JsonObject:
        chat, user = self.chats.get_named(params), read_integer(params, "user_id")
        person = {"id": user, "is_bot": False, "first_name": "Ann"}
        if (chat.chat_id, user) in self.owners:
            return {"status": "creator", "user": person, "is_anonymous": False}
        return {"status": "member", "user": person}

    # -- the bot itself ------------------------------------------------------------------------------------

    @property
    def bot_user(self) -> JsonObject:
        """Return the bot as a sender."""
        return {key: self.bot[key] for key in ("id", "is_bot", "first_name", "username")}

    # -- webhooks ------------------------------------------------------------------------------------------

    def _set_webhook(self, params: JsonObject) -> bool:
        url = params.get("url", "")
        if url and not url.startswith("https://"):
            raise create_bad_request("bad webhook: An HTTPS URL must be provided for webhook")
        if params.get("drop_pending_updates") is True:
            self.updates.drop()
        secret = params.get("secret_token", "")
        if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
            raise create_bad_request("secret token contains unallowed characters")
        self.updates.allow(params)
        self.updates.set_webhook(url, secret)
        return True

    def _delete_webhook(self, params: JsonObject) -> bool:
        return self._set_webhook(params | {"url": ""})

    def _get_webhook_info(self, _params: JsonObject) -> JsonObject:
        info: JsonObject = {
            "url": self.updates.webhook_url,
            "has_custom_certificate": False,
            "pending_update_count": len(self.updates.pending),
        }
        if self.updates.webhook_error:
            info |= {"last_error_date": int(time.time()), "last_error_message": self.updates.webhook_error}
        if self.updates.allowed:
            info["allowed_updates"] = self.updates.allowed
        return info


def _find_replied_message(chat: Chat, params: JsonObject) -> int | None:
    """Return the message that a request replies to, or None if it is missing and optional."""
    reply = params.get("reply_parameters", {})
    if not isinstance(reply, dict):
        raise create_bad_request("can't parse reply parameters: expected an Object")
    message_id = reply.get("message_id", params.get("reply_to_message_id"))
    if message_id is None:
        return None
    if message_id in chat.messages:
        return int(message_id)
    if reply.get("allow_sending_without_reply") or params.get("allow_sending_without_reply") is True:
        return None
    raise create_bad_request("message to be replied not found")
