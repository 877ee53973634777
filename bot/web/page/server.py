"""The routes of the memory page: the page itself, and what it asks for, as JSON."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.web.page.access import Guard, OneTimeLink
from bot.web.page.texts import page_texts
from config.texts import use_language
from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from bot.web.page.data import Json, PageData

log = structlog.get_logger(__name__)

MOST_UPLOADED = 64 * 1024**2
"""Bytes of a file that is imported; `mneme import` takes larger ones."""
_STATIC = {
    "": ("index.html", "text/html"),
    "page.js": ("page.js", "text/javascript"),
    "page.css": ("page.css", "text/css"),
}

_Id = Annotated[int, Field(ge=0, lt=1 << 53)]
_ID = TypeAdapter(_Id)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Edit(_Body):
    content: Annotated[str, Field(max_length=20_000)]


class _File(_Body):
    before: Annotated[str, Field(max_length=1_000_000)]
    after: Annotated[str, Field(max_length=1_000_000)]


def page_app(data: PageData, link: OneTimeLink, host: str, language: str) -> Starlette:
    """The page of one owner. host: where it is served, with its port; language: in which it speaks."""

    def api(path: str, answer: Callable[[Request], Awaitable[Json]], method: str = "GET") -> Route:
        async def handle(request: Request) -> Response:
            with use_language(language):
                return await _answered(request, answer)

        return Route(f"/api/{path}", handle, methods=[method])

    async def overview(_request: Request) -> Json:
        return await data.overview() | {"texts": page_texts(), "language": language}

    async def edit(request: Request) -> Json:
        return await data.edit(request.path_params["id"], (await _body(request, _Edit)).content)

    async def write_file(request: Request) -> Json:
        body = await _body(request, _File)
        return await data.write_file(body.before, body.after)

    async def bring_in(request: Request) -> Json:
        look = request.query_params.get("look") == "1"
        return await data.bring_in(request.query_params.get("name", ""), await _uploaded(request), look=look)

    def of_id(work: Callable[[int], Awaitable[Json]]) -> Callable[[Request], Awaitable[Json]]:
        return lambda request: work(request.path_params["id"])

    routes = [
        api("overview", overview),
        api("entries", lambda r: data.timeline(_state(r), _number(r, "before"))),
        api("entries/{id:int}", of_id(data.entry)),
        api("entries/{id:int}/edit", edit, "POST"),
        api("entries/{id:int}/confirm", of_id(data.confirm), "POST"),
        api("entries/{id:int}/forget", of_id(data.forget), "POST"),
        api("confirm-imported", lambda _: data.confirm_imported(), "POST"),
        api("search", lambda r: data.search(r.query_params.get("q", "")[:1_000])),
        api("conversations", lambda r: data.conversations(_number(r, "before"))),
        api("conversations/{id:int}", lambda r: data.conversation(r.path_params["id"], _number(r, "from") or 0)),
        api("changes", lambda _: data.changes()),
        api("changes/{id:int}/undo", of_id(data.undo), "POST"),
        api("file", lambda _: data.file()),
        api("file", write_file, "POST"),
        api("last", lambda _: data.last_request()),
        api("import", bring_in, "POST"),
        Route("/enter/{token}", link.enter),
        *(Route(f"/{path}", _static(*what)) for path, what in _STATIC.items()),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, link=link, host=host)])


async def _answered(request: Request, answer: Callable[[Request], Awaitable[Json]]) -> Response:
    """What is refused is said in a sentence; what is wrong with a request is none of a person's."""
    try:
        return JSONResponse(await answer(request))
    except MnemeError as error:
        return JSONResponse({"error": str(error)}, 409)
    except (ValidationError, KeyError) as error:
        log.info("page_request_refused", path=request.url.path, error=type(error).__name__)
        return JSONResponse({"error": "This request is not as the page makes it."}, 422)


async def _body(request: Request, kind: type[Any]) -> Any:
    return kind.model_validate_json(await request.body())


async def _uploaded(request: Request) -> bytes:
    """Raises MnemeError for what is too large, before all of it came."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_UPLOADED:
            raise MnemeError("This file is too large for the page: import it with `mneme import PATH`.")
    return bytes(content)


def _number(request: Request, name: str) -> int | None:
    value = request.query_params.get(name)
    return None if value is None else _ID.validate_python(value)


def _state(request: Request) -> str:
    state = request.query_params.get("state", "all")
    return state if state in ("all", "live", "unsure", "past") else "all"


def _static(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def handle(_request: Request) -> Response:
        return Response(files(__package__).joinpath("static", name).read_bytes(), media_type=kind)

    return handle
