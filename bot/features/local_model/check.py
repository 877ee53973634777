"""The check of the local model in `mneme doctor`."""

from __future__ import annotations

from bot.doctor.finding import DoctorContext, Finding, create_failed, create_failed_from_error, create_ok
from bot.features.local_model.choice import choose_local
from bot.features.local_model.engine import EmbeddedModelError, check_engine
from bot.features.local_model.model_files import is_present
from config.models import CatalogueError, LocalModel, load_catalogue

FETCH = "Run `mneme model pull`, or connect a model server with `mneme setup`."
CATALOGUED = "Correct LLM_MODEL, or set OPENAI_BASE_URL: without an endpoint, LLM_MODEL must be a local model."


def check_local_model(context: DoctorContext) -> Finding:
    settings = context.settings
    try:
        choice = choose_local(settings, load_catalogue())
    except CatalogueError as error:
        return create_failed("model", str(error).rstrip("."), CATALOGUED)
    try:
        check_engine()
    except EmbeddedModelError as error:
        return create_failed_from_error("model", error)
    local, weights = choice.model, choice.weights
    if not isinstance(local, LocalModel):
        return create_ok("model", f"The embedded model is {weights}; its engine loads")
    if not is_present(local, settings.models_dir):
        state = "damaged or incomplete" if weights.exists() else "not downloaded yet"
        return create_failed("model", f"The weights of {local.name} are {state}: {weights}", FETCH)
    measured = "" if local.is_measured else ", which wasn't tested with this bot,"
    return create_ok("model", f"The embedded {local.name}{measured} is at {weights}; its engine loads")
