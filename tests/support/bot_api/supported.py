"""The features of the Bot API that a local server has. Tests switch them off to imitate an older server."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.bot_api.params import ApiError, JsonObject
from tests.support.bot_api.text import refuse_times

_METHODS = {
    "editForumTopic": "topics",
    "getBusinessConnection": "people",
    "sendMessageDraft": "drafts",
    "setMySettings": "settings",
}


@dataclass(slots=True)
class Supported:
    """Whether a server has each feature.

    Attributes:
        drafts: `sendMessageDraft`.
        people: Choosing people by name, as since Bot API 7.2.
        settings: `setMySettings`, as since Bot API 10.5.
        times: Entities of type `date_time`, as since Bot API 9.5.
        topics: `editForumTopic`.
    """

    drafts: bool = True
    people: bool = True
    settings: bool = True
    times: bool = True
    topics: bool = True

    def check(self, method: str, params: JsonObject) -> None:
        """Refuse a method or an entity that the server doesn't have."""
        if not getattr(self, _METHODS.get(method, ""), True):
            raise ApiError(404, "Not Found")
        if not self.times:
            refuse_times(params.get("entities"))
