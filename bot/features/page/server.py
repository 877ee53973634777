"""The routes of the memory page: the page, its texts, and its JSON API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bot.features.page.access import Guard, Visitors, read_static_page
from bot.features.page.data import Json, PageData
from bot.features.page.exports import Exports
from bot.features.page.uploads import Uploads
from config.numbers import RowNumber, parse_number
from config.texts import N_, _, use_language
from memory.errors import MnemeError

log = structlog.get_logger(__name__)

TEXTS = {
    "title": N_("What I remember"),
    "timeline": N_("Memories"),
    "conversations": N_("Conversations"),
    "changes": N_("Changes"),
    "file": N_("Notes file"),
    "last": N_("Last answer"),
    "import": N_("Import"),
    "search": N_("Search memories and conversations"),
    "all": N_("All"),
    "live": N_("In use"),
    "unsure": N_("To confirm"),
    "past": N_("Past"),
    "more": N_("Show more"),
    "nothing": N_("Nothing here yet."),
    "begin": N_("Nothing here yet. Tell me something about you in the chat, or import chats from another program."),
    "not_found": N_("I didn't find anything about that."),
    "open_conversation": N_("Show the conversation"),
    "replaced_by": N_("Replaced by"),
    "holds_until": N_("Until"),
    "holds_since": N_("Since"),
    "fades": N_("Fades after"),
    "strength": N_("Strength"),
    "archived": N_("Archived"),
    "edit": N_("Edit"),
    "save": N_("Save"),
    "cancel": N_("Cancel"),
    "confirm": N_("Right"),
    "forget": N_("Forget"),
    "undo": N_("Undo"),
    "confirm_all": N_("Confirm everything imported"),
    "no_changes": N_("There is nothing to undo."),
    "review": N_("Review changes"),
    "removed": N_("Removed"),
    "added": N_("Added"),
    "no_difference": N_("No changes."),
    "tokens": N_("tokens"),
    "last_none": N_("No memory was used for your last message."),
    "in_file": N_("Always included, from the notes file"),
    "choose_file": N_("Choose a file, or drop it here"),
    "import_now": N_("Import file"),
    "importing": N_("Importing…"),
    "messages": N_("messages"),
    "export": N_("Download everything"),
    "by_month": N_("Learned by month"),
    "you": N_("You"),
    "assistant": N_("Assistant"),
    "lost": N_("The page lost its connection: run mneme web again."),
    "back": N_("Back"),
}


def list_page_texts() -> dict[str, str]:
    return {name: _(text) for name, text in TEXTS.items()}


_TELEGRAM = '<script src="https://telegram.org/js/telegram-web-app.js"></script>'
"""Provides data and colours to the Mini App. It is the only external script."""

_NUMBER: TypeAdapter[int] = TypeAdapter(RowNumber)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Edit(_Body):
    content: Annotated[str, Field(max_length=20_000)]


class _File(_Body):
    before: Annotated[str, Field(max_length=1_000_000)]
    after: Annotated[str, Field(max_length=1_000_000)]


def build_page_app(visitors: Visitors) -> Starlette:
    uploads = Uploads()
    exports = Exports(visitors.frames if visitors.is_open else "")

    def create_route(path: str, answer: Callable[[Request], Awaitable[Json]], method: str = "GET") -> Route:
        async def handle(request: Request) -> Response:
            with use_language(request.state.visitor.language):
                return await _respond(request, answer)

        return Route(f"/api/{path}", handle, methods=[method])

    async def overview(request: Request) -> Json:
        return await _get_data(request).overview() | {
            "texts": list_page_texts(),
            "language": request.state.visitor.language,
        }

    async def edit(request: Request) -> Json:
        return await _get_data(request).edit(_parse_row(request), (await _read_body(request, _Edit)).content)

    async def write_file(request: Request) -> Json:
        body = await _read_body(request, _File)
        return await _get_data(request).write_file(body.before, body.after)

    async def import_file(request: Request) -> Json:
        data = _get_data(request)
        if data.importer is None:
            raise HTTPException(404)
        async with uploads.receive(request, data.owner, data.importer.make_file_name) as path:
            return await data.import_file(path, look=request.query_params.get("look") == "1")

    def with_id(work: Callable[[PageData, int], Awaitable[Json]]) -> Callable[[Request], Awaitable[Json]]:
        return lambda request: work(_get_data(request), _parse_row(request))

    routes = [
        create_route("overview", overview),
        create_route("entries", lambda r: _get_data(r).timeline(_parse_state(r), _parse_number(r, "before"))),
        create_route("entries/{id}", with_id(PageData.entry)),
        create_route("entries/{id}/edit", edit, "POST"),
        create_route("entries/{id}/confirm", with_id(PageData.confirm), "POST"),
        create_route("entries/{id}/forget", with_id(PageData.forget), "POST"),
        create_route("confirm-imported", lambda r: _get_data(r).confirm_imported(), "POST"),
        create_route("search", lambda r: _get_data(r).search(r.query_params.get("q", "")[:1_000])),
        create_route("conversations", lambda r: _get_data(r).conversations(_parse_number(r, "before"))),
        create_route(
            "conversations/{id}", lambda r: _get_data(r).conversation(_parse_row(r), _parse_number(r, "from") or 0)
        ),
        create_route("changes", lambda r: _get_data(r).changes()),
        create_route("changes/{id}/undo", with_id(PageData.undo), "POST"),
        create_route("file", lambda r: _get_data(r).file()),
        create_route("file", write_file, "POST"),
        create_route("last", lambda r: _get_data(r).last_request()),
        create_route("import", import_file, "POST"),
        create_route("export", lambda r: exports.prepare(_get_data(r)), "POST"),
        Route("/export/{token}", exports.download),
        *visitors.routes,
        Route("/", _create_index(in_telegram=visitors.is_open)),
        # Last, since it matches every path
        Mount("/", StaticFiles(packages=[(__package__, "static")])),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, visitors=visitors)])


async def _respond(request: Request, answer: Callable[[Request], Awaitable[Json]]) -> Response:
    """Respond with JSON, 409 and a sentence for refusals, or 422 for requests that the page itself never sends."""
    try:
        return JSONResponse(to_jsonable_python(await answer(request)))
    except MnemeError as error:
        return JSONResponse({"error": str(error)}, 409)
    except (ValidationError, KeyError) as error:
        log.debug("page_request_refused", path=request.url.path, error=type(error).__name__)
        return JSONResponse({"error": "This request is not as the page makes it."}, 422)


async def _read_body(request: Request, kind: type[Any]) -> Any:
    return kind.model_validate_json(await request.body())


def _parse_row(request: Request) -> int:
    """Return the row number in the path. Raises HTTPException if it is invalid."""
    number = parse_number(request.path_params["id"])
    if number is None:
        raise HTTPException(404)
    return number


def _parse_number(request: Request, name: str) -> int | None:
    value = request.query_params.get(name)
    return None if value is None else _NUMBER.validate_python(value)


def _parse_state(request: Request) -> str:
    state = request.query_params.get("state", "all")
    return state if state in ("all", "live", "unsure", "past") else "all"


def _get_data(request: Request) -> PageData:
    data: PageData = request.state.visitor.data
    return data


def _create_index(*, in_telegram: bool) -> Callable[[Request], Awaitable[Response]]:
    page = read_static_page("index.html")
    page = page.replace("</title>\n", f"</title>\n{_TELEGRAM}\n", 1) if in_telegram else page

    async def handle(_request: Request) -> Response:
        return HTMLResponse(page)

    return handle
