"""The SDK: its client for an endpoint, how long that may be silent, and what its errors say to do, in one sentence."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import re
import ssl
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import certifi

from config.process import loading_for_good
from config.texts import _
from pipeline.models.model import ContextOverflow, ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import openai

    from pipeline.models.endpoint import Endpoint

CONNECTING = 5.0
"""Seconds that a connection may take where nothing else is said."""


async def load_sdk() -> None:
    """Import the SDK, in a thread: it takes a second of a small machine, and chats go on meanwhile.

    It is called when there is something to ask, since it takes 13 MB that a bot to which nobody speaks has no use for.
    """
    # while another thread imports it, the module exists already, but without its client, which it defines last
    if not hasattr(sys.modules.get("openai"), "AsyncOpenAI"):
        await asyncio.to_thread(_import_sdk)


def _import_sdk() -> None:
    with loading_for_good():
        import openai  # noqa: F401  # for those that use it


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The one context of all HTTP clients of the process: reading the certificates takes 30 ms and 1 MB each time."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)


def client_of(
    endpoint: Endpoint,
    *,
    seconds: float,
    retries: int,
    connecting: float = CONNECTING,
    connections: int | None = None,
) -> openai.AsyncOpenAI:
    """A client for `endpoint`, to be closed.

    seconds: for a request; connecting: of these for the connection; retries: the SDK's own; connections: at most.
    """
    import httpx2
    import openai

    limits = openai.DEFAULT_CONNECTION_LIMITS if connections is None else httpx2.Limits(max_connections=connections)
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=retries,
        timeout=openai.Timeout(seconds, connect=min(connecting, seconds)),
        http_client=openai.DefaultAsyncHttpxClient(
            verify=tls_context(), limits=limits, trust_env=not is_on_this_machine(endpoint.base_url)
        ),
    )


def is_on_this_machine(url: str | None) -> bool:
    """Whether an address is this machine's own, which a proxy of the environment can't reach."""
    host = urlsplit(url or "").hostname or ""
    return host == "localhost" or re.fullmatch(r"127(?:\.\d+){3}|::1", host) is not None


@contextlib.asynccontextmanager
async def idle_timeout(silence: float, seconds: float | None) -> AsyncIterator[Callable[[], None]]:
    """Raises TimeoutError in a block that takes longer than `seconds`, or hears nothing for `silence` seconds.

    The block calls what it is given whenever it has heard something.
    """
    now = asyncio.get_running_loop().time
    end = math.inf if seconds is None else now() + seconds
    async with asyncio.timeout_at(min(now() + silence, end)) as limit:

        def keep_alive() -> None:
            if not limit.expired():  # the block is on its way out then
                limit.reschedule(min(now() + silence, end))

        yield keep_alive


_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")
# how providers say that a request is too long; there is no code that all of them use
_OVERFLOW_WORDS = (
    "context_length",
    "context length",
    "context size",
    "context window",
    "maximum context",
    "maximum prompt length",
    "maximum number of tokens",
    "prompt is too long",
    "too many tokens",
    "n_ctx",
    "exceed_context",
    "input is too long",
    "input length",
    "reduce the length",
    "token limit",
)


class NotAModel(ValueError):
    """What has answered is a web page, as of a proxy or of another program at that address."""


def means_overflow(error: Exception) -> bool:
    text = str(error).lower()
    # 429 speaks of tokens too: of those that the account may use in a minute
    return getattr(error, "status_code", None) != 429 and any(words in text for words in _OVERFLOW_WORDS)


def loggable(error: Exception) -> dict[str, object]:
    """What a log may hold of an SDK error: not its text, since providers quote the request."""
    code = str(getattr(error, "code", None) or "")
    return {
        "error": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": code if _CODE.fullmatch(code) else None,
    }


def explained(error: Exception, model: str, where: str, timeout: float) -> ModelError:
    """The sentence for an error of the SDK. where: the endpoint's address; timeout: the seconds that were waited."""
    import openai

    if isinstance(error, NotAModel):
        return ModelError(_("At {where} a web page answers, and no model: check OPENAI_BASE_URL.", where=where))
    if means_overflow(error):
        return ContextOverflow(
            _("This conversation is larger than the model {model} can read: try /compact.", model=model)
        )
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return ModelError(
            _(
                "The model {model} did not answer within {seconds} seconds: try /retry.",
                model=model,
                seconds=f"{round(timeout, 1):g}",
            )
        )
    if isinstance(error, openai.APIConnectionError):
        return ModelError(
            _(
                "The model at {where} can't be reached, or it hung up: check OPENAI_BASE_URL and the network.",
                where=where,
            )
        )
    if isinstance(error, openai.APIStatusError):
        return _explained_status(error, model, where)
    if isinstance(error, openai.APIError):  # said in the middle of the stream
        code = loggable(error)["code"]
        return ModelError(
            _("The model {model} failed in its answer ({code}): try /retry.", model=model, code=code)
            if code
            else _("The model {model} failed in its answer: try /retry.", model=model)
        )
    return ModelError(_("The model {model} sent something that can't be read: try /retry.", model=model))


def _explained_status(error: openai.APIStatusError, model: str, where: str) -> ModelError:
    if error.status_code in (401, 403):
        return ModelError(_("The model at {where} refuses the key: check OPENAI_API_KEY.", where=where))
    if error.status_code == 404:
        return ModelError(
            _(
                "The model {model} is not known at {where}: check LLM_MODEL and OPENAI_BASE_URL.",
                model=model,
                where=where,
            )
        )
    if error.status_code == 402 or error.code == "insufficient_quota":
        return ModelError(
            _("The account at {where} has no credit left: top it up, or change OPENAI_API_KEY.", where=where)
        )
    if error.status_code == 429:
        return ModelError(
            _("The model at {where} takes no more requests for now: wait a moment, then /retry.", where=where)
        )
    return ModelError(
        _("The model at {where} answered with error {status}: try /retry later.", where=where, status=error.status_code)
    )
