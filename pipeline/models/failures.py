"""Turns errors of model calls into sentences that tell the user what to do."""

from __future__ import annotations

from config.texts import N_, _, for_owner
from pipeline.models.endpoint import is_refused_connection
from pipeline.models.events import NotAModel
from pipeline.models.model import ContentRefused, ContextOverflow, ModelError, RequestRejected
from pipeline.models.refusals import Complaint

NOT_SET_UP = N_("My model isn't set up correctly, and only my owner can change that: please tell them.")
_NOT_REACHED = N_("My model can't be reached at the moment: try /retry later, and tell my owner if it stays like this.")


def explain_complaint(complaint: Complaint, model: str, where: str) -> ModelError:
    status = complaint.status
    if complaint.is_filter:
        return ContentRefused(
            _("The provider's content filter blocked this ({reason}): say it differently.", reason=complaint.reason)
        )
    if complaint.is_overflow:
        return ContextOverflow(
            _("This conversation is longer than the model {model} can read: try /compact.", model=model)
        )
    if complaint.is_no_credit:
        return ModelError(
            for_owner(
                N_("The account at {where} has no credit left: top it up, or change OPENAI_API_KEY."),
                NOT_SET_UP,
                where=where,
            )
        )
    if status in (401, 403):
        return ModelError(
            for_owner(N_("The model at {where} rejected the key: check OPENAI_API_KEY."), NOT_SET_UP, where=where)
        )
    if status == 404:
        return ModelError(
            for_owner(
                N_("The model {model} wasn't found at {where}: check LLM_MODEL and OPENAI_BASE_URL."),
                NOT_SET_UP,
                model=model,
                where=where,
            )
        )
    if status in (429, 529):
        return ModelError(
            for_owner(
                N_("The model at {where} is getting too many requests: wait a moment, then send /retry."),
                N_("My model is getting too many requests: wait a moment, then send /retry."),
                where=where,
            )
        )
    if status is None:
        return ModelError(
            _(
                "The model {model} failed while it was answering ({reason}): try /retry.",
                model=model,
                reason=complaint.reason,
            )
        )
    if status >= 500:
        return ModelError(
            for_owner(
                N_("The model at {where} returned error {status}: try /retry later."),
                N_("My model returned error {status}: try /retry later."),
                where=where,
                status=status,
            )
        )
    return RequestRejected(
        for_owner(
            N_(
                "The model at {where} rejected the request ({reason}): try /retry, or /new to start a new conversation."
            ),
            N_("My model rejected the request: try /retry, or /new to start a new conversation."),
            where=where,
            reason=complaint.reason,
        )
    )


def explain_loading(cause: Exception, where: str, seconds: float) -> ModelError:
    """Return the error for a server that was not ready after `seconds`."""
    if is_refused_connection(cause):
        return ModelError(
            for_owner(
                N_("No server answers at {where}: check OPENAI_BASE_URL, and that the model's server is running."),
                _NOT_REACHED,
                where=where,
            )
        )
    return ModelError(
        for_owner(
            N_("The model at {where} was not ready within {seconds} seconds: wait until it is loaded, then try again."),
            N_("My model was not ready within {seconds} seconds: wait until it is loaded, then try again."),
            where=where,
            seconds=f"{round(seconds, 1):g}",
        )
    )


def explain_error(error: Exception, model: str, where: str, seconds: float) -> ModelError:
    """Return the error for a call without a readable answer. `seconds` is its timeout."""
    import openai

    if isinstance(error, NotAModel):
        return ModelError(
            for_owner(
                N_("There is a web page at {where}, but no model: check OPENAI_BASE_URL."), NOT_SET_UP, where=where
            )
        )
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return ModelError(
            _(
                "The model {model} didn't answer within {seconds} seconds: try /retry.",
                model=model,
                seconds=f"{round(seconds, 1):g}",
            )
        )
    if isinstance(error, openai.APIConnectionError) or type(error).__module__.startswith("httpx"):
        return ModelError(
            for_owner(
                N_(
                    "The model at {where} can't be reached, or it closed the connection: check OPENAI_BASE_URL and the"
                    " network."
                ),
                _NOT_REACHED,
                where=where,
            )
        )
    return ModelError(_("The model {model} sent an answer that can't be read: try /retry.", model=model))
