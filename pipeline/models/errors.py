"""What goes wrong with a model, each in one sentence that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from config.texts import _
from pipeline.models.model import ContextOverflow, ModelError

if TYPE_CHECKING:
    import openai

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
    """Whether a server says with `error` that the request is too long."""
    text = str(error).lower()
    # 429 speaks of tokens too: of those that the account may use in a minute
    return getattr(error, "status_code", None) != 429 and any(words in text for words in _OVERFLOW_WORDS)


def loggable(error: Exception) -> dict[str, object]:
    """What a log may hold of an error of the SDK. Its words are left out: providers quote what was said to them."""
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
