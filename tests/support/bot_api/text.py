"""Validation of message texts and entities as in Telegram."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.support.bot_api.params import JsonObject, create_bad_request

MAX_TEXT = 4096
"""The longest text of a message, in UTF-16 code units."""

PLAIN_TYPES = frozenset(
    [
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "code",
        "pre",
        "blockquote",
        "expandable_blockquote",
        "mention",
        "hashtag",
        "cashtag",
        "bot_command",
        "url",
        "email",
        "phone_number",
    ]
)
_REQUIRED = {
    "text_link": ("url", str),
    "text_mention": ("user", dict),
    "custom_emoji": ("custom_emoji_id", str),
    "date_time": ("unix_time", int),
}
_CODE = frozenset({"code", "pre"})
_QUOTES = frozenset({"blockquote", "expandable_blockquote"})
_LINKS = frozenset({"text_link", "text_mention", "url", "mention"})
# what Telegram trims from both ends of a message
_BLANK = " \n\t\r"


@dataclass(frozen=True, slots=True)
class Entity:
    """A formatted range of a text. Offset and length count UTF-16 code units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None
    custom_emoji_id: str | None = None
    user_id: int | None = None
    unix_time: int | None = None

    @property
    def end(self) -> int:
        """Return the index of the first unit after the range."""
        return self.offset + self.length

    def as_json(self) -> JsonObject:
        """Return the entity in Bot API format."""
        entity: JsonObject = {"type": self.type, "offset": self.offset, "length": self.length}
        optional = ("url", "language", "custom_emoji_id", "unix_time")
        entity |= {name: value for name in optional if (value := getattr(self, name)) is not None}
        if self.user_id is not None:
            entity["user"] = {"id": self.user_id, "is_bot": False, "first_name": "Somebody"}
        return entity


@dataclass(frozen=True, slots=True)
class FormattedText:
    """A text with its entities, outermost first."""

    text: str
    entities: tuple[Entity, ...] = ()


def utf16_length(text: str) -> int:
    """Return the length of the text by Telegram's count."""
    return len(text.encode("utf-16-le")) // 2


def entity_from_json(value: JsonObject) -> Entity:
    """Parse an entity without validation."""
    user = value.get("user")
    return Entity(
        type=value["type"],
        offset=value["offset"],
        length=value["length"],
        url=value.get("url"),
        language=value.get("language"),
        custom_emoji_id=value.get("custom_emoji_id"),
        user_id=user.get("id") if isinstance(user, dict) else None,
        unix_time=value.get("unix_time"),
    )


def refuse_times(value: Any) -> None:
    """Refuse date_time entities, as a server before Bot API 9.5 may do."""
    if isinstance(value, list) and any(isinstance(item, dict) and item.get("type") == "date_time" for item in value):
        raise _refused("unsupported type specified")


def parse_entities(text: str, value: Any) -> FormattedText:
    """Return the text with the entities of a parameter, or refuse invalid ones."""
    if not isinstance(value, list):
        raise _refused("expected an Array of MessageEntity")
    units = text.encode("utf-16-le")
    entities = [_parse_entity(item, units) for item in value]
    ordered = sorted(entities, key=lambda entity: (entity.offset, -entity.length, entity.type in _CODE))
    _check_nesting(ordered)
    return FormattedText(text, tuple(ordered))


def trimmed(formatted: FormattedText) -> FormattedText:
    """Return the text as Telegram stores it, without surrounding blanks and with moved entities."""
    body = formatted.text.rstrip(_BLANK)
    # blanks that an entity begins with stay
    first = min((entity.offset for entity in formatted.entities), default=len(body))
    shift = min(len(body) - len(body.lstrip(_BLANK)), first)
    limit = utf16_length(body)
    moved = (
        replace(entity, offset=entity.offset - shift, length=min(entity.end, limit) - entity.offset)
        for entity in formatted.entities
        if entity.offset < limit
    )
    return FormattedText(body[shift:], tuple(moved))


def check_text(formatted: FormattedText, *, too_long: str = "message is too long") -> FormattedText:
    """Return the text as stored, or refuse an empty or overlong one."""
    kept = trimmed(formatted)
    if not kept.text.strip():
        raise create_bad_request("message text is empty")
    if utf16_length(kept.text) > MAX_TEXT:
        raise create_bad_request(too_long)
    return kept


def formatted_text(params: JsonObject, *, may_be_empty: bool = False) -> FormattedText:
    """Return the text of a request, which Telegram parses before it looks at the chat."""
    text = params.get("text", "")
    if not isinstance(text, str) or not (text or may_be_empty):
        raise create_bad_request("message text is empty")
    if params.get("parse_mode"):  # Mneme sends entities and no markup.
        raise create_bad_request("unsupported parse_mode")
    return parse_entities(text, params.get("entities", []))


def _refused(reason: str) -> Exception:
    return create_bad_request(f"can't parse entities: {reason}")


def _parse_entity(value: Any, units: bytes) -> Entity:
    if not isinstance(value, dict):
        raise _refused("expected an Object")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in PLAIN_TYPES | _REQUIRED.keys():
        raise _refused("unsupported type specified")
    for field in ("offset", "length"):
        if type(value.get(field)) is not int:
            raise _refused(f'field "{field}" must be of type Number')
    if kind in _REQUIRED:
        field, expected = _REQUIRED[kind]
        if not isinstance(value.get(field), expected) or not value[field]:
            raise _refused(f'can\'t find field "{field}"')
    entity = entity_from_json(value)
    _check_place(entity, units)
    return entity


def _check_place(entity: Entity, units: bytes) -> None:
    if entity.offset < 0 or entity.length <= 0 or entity.end * 2 > len(units):
        raise _refused(f"entity {entity.type} at {entity.offset}+{entity.length} is outside of the text")
    for edge in (entity.offset, entity.end):
        # the second half of a surrogate pair is 0xDC00-0xDFFF; in little endian its high byte comes second
        if edge * 2 < len(units) and 0xDC <= units[edge * 2 + 1] <= 0xDF:
            raise _refused(f"entity {entity.type} at {entity.offset}+{entity.length} splits a character")


def _check_nesting(ordered: list[Entity]) -> None:
    around: list[Entity] = []
    for entity in ordered:
        while around and around[-1].end <= entity.offset:
            around.pop()
        if around and entity.end > around[-1].end:
            raise _refused(f"entities {around[-1].type} and {entity.type} overlap")
        for outer in around:
            if outer.type in _CODE:
                raise _refused(f"entity {outer.type} can't contain {entity.type}")
            for family in (_QUOTES, _LINKS):
                if outer.type in family and entity.type in family:
                    raise _refused(f"entity {entity.type} can't be nested in {outer.type}")
        around.append(entity)
