"""The feature near dates."""

from __future__ import annotations

from bot.feature import MEMORY_OFF, Contributions, Feature
from bot.features.near_dates.dates import NearDates
from bot.features.near_dates.job import DateOfferJob
from bot.features.near_dates.look import OfferLook
from bot.kernel import Kernel
from config.settings import Settings
from memory.consolidation.consolidation import BACKGROUND_TIMEOUT_FACTOR
from pipeline.models.memory_prompts import ModelConsolidator

PURPOSE = "offer"


class NearDatesFeature(Feature):
    name = "near_dates"
    near: NearDates

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.memory_enabled else MEMORY_OFF

    async def open(self, kernel: Kernel) -> Contributions:
        memory = kernel.memory
        ask = ModelConsolidator(kernel.setup.model, kernel.clock, PURPOSE)
        seconds = kernel.settings.consolidation_timeout * BACKGROUND_TIMEOUT_FACTOR
        look = OfferLook(ask, kernel.setup.abilities.is_reliable, seconds)
        self.near = NearDates(memory.database, memory.reminders, look, memory.preferences.get_language, kernel.clock)
        return Contributions(
            periodic=[DateOfferJob(self.near, memory.jobs, memory.notices_of.is_enabled, kernel.clock)]
        )
