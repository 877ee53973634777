"""What happens to the groups that the bot is in: it is added, a group gets another id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from telegram import ChatMemberRestricted
from telegram.constants import ChatMemberStatus, ChatType

from config.texts import N_, _

if TYPE_CHECKING:
    from telegram import ChatMember, Update, User

_INTRODUCTION = N_(
    "Hello, I am {name}. I answer whoever mentions me (@{username}) or replies to one of my messages.\n\n"
    "What I keep: those messages with who wrote them, what is sent with them, and my answers{memory}. Nothing else "
    "that is said here.\n\n"
    "Who may see it: everybody here, since I answer all of you from it, and whoever runs me; no other chat. What "
    "somebody tells me in private never comes here. /memory, /forget and /undo are for this group's administrators and "
    "for my owner."
)
_MEMORY = N_(", and the facts and wishes that I learn from them")


def introduction(me: User, *, remembers: bool) -> str:
    """What a group is told when the bot is added. remembers: whether it keeps more than conversations."""
    return _(_INTRODUCTION, name=me.first_name, username=me.username, memory=_(_MEMORY) if remembers else "")


def added_to(update: Update) -> tuple[int, User] | None:
    """The group that the bot was added to, and who added it; None for anything else."""
    change = update.my_chat_member
    if change is None or change.chat.type not in (ChatType.GROUP, ChatType.SUPERGROUP):
        return None
    if _is_in(change.old_chat_member) or not _is_in(change.new_chat_member):
        return None
    return change.chat.id, change.from_user


def group_move(update: Update) -> tuple[int, int] | None:
    """The former and the present id of a group that became a supergroup; None for anything else.

    The last message of the group says it, and the first one of the supergroup. Both are Telegram's own.
    """
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id is not None and message.chat.type == ChatType.GROUP:
        return message.chat.id, message.migrate_to_chat_id
    if message.migrate_from_chat_id is not None and message.chat.type == ChatType.SUPERGROUP:
        return message.migrate_from_chat_id, message.chat.id
    return None


def _is_in(member: ChatMember) -> bool:
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status not in (ChatMemberStatus.LEFT, ChatMemberStatus.BANNED)
