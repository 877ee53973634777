"""The feature local model."""

from __future__ import annotations

import asyncio
import contextlib
from typing import ClassVar

from bot.doctor.finding import DoctorContext, Finding
from bot.feature import Feature
from bot.models import ProvidedModel
from bot.setup.offers import ModelOffers
from config.models import ModelCatalogue
from config.settings import Settings
from memory.store.erasure import PendingErasures


async def check(context: DoctorContext) -> list[Finding]:
    """Check the local model, or the models at endpoints if there are any."""
    if context.settings.has_endpoint:
        from bot.doctor.services import check_models

        return await check_models(context)
    from bot.features.local_model.check import check_local_model

    return [await asyncio.to_thread(check_local_model, context)]


class LocalModelFeature(Feature):
    name = "local_model"
    checks: ClassVar = {"model": check}

    def why_off(self, settings: Settings) -> str | None:
        return "there is an endpoint" if settings.has_endpoint else None

    def create_model(
        self,
        settings: Settings,
        catalogue: ModelCatalogue,
        erasures: PendingErasures,
        stack: contextlib.AsyncExitStack,
    ) -> ProvidedModel | None:
        from bot.features.local_model.running import create_local_model

        return create_local_model(settings, catalogue, erasures, stack)

    def prepare_chat(self, settings: Settings) -> bool:
        from bot.features.local_model.pulling import offer_local_server

        return offer_local_server(settings)

    def offer_models(self) -> ModelOffers:
        from bot.features.local_model.setup import offer_local_models

        return offer_local_models()
