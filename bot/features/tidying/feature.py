"""The feature tidying."""

from __future__ import annotations

from bot.feature import MEMORY_OFF, Contributions, Feature
from bot.features.tidying.job import WeeklySchedule, create_weekly_rule
from bot.features.tidying.settings import TidyingSettings
from bot.features.tidying.tidying import WeeklyConsolidation
from bot.features.tidying.tool import consolidate_tool
from bot.kernel import Kernel
from config.settings import Settings


class TidyingFeature(Feature):
    name = "tidying"
    weekly: WeeklyConsolidation
    schedule: WeeklySchedule

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.memory_enabled else MEMORY_OFF

    async def open(self, kernel: Kernel) -> Contributions:
        settings, memory = kernel.settings, kernel.memory
        when = settings.group(TidyingSettings)
        rule = create_weekly_rule(when.memory_tidy_day, when.memory_tidy_hour, settings.zone)
        self.weekly = WeeklyConsolidation(memory.database, memory.ledger, memory.decay, kernel.clock, memory.view)
        self.schedule = WeeklySchedule(self.weekly, memory.jobs, memory.notices, kernel.languages, kernel.clock, rule)
        return Contributions(tools=[consolidate_tool(self.weekly)], jobs=[self.schedule])
