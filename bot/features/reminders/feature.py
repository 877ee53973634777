"""The feature reminders."""

from __future__ import annotations

from dataclasses import replace

from bot.feature import Contributions, Feature
from bot.features.reminders.commands import ReminderCommands
from bot.features.reminders.delivery import ReminderDelivery
from bot.features.reminders.near_date_job import DateOfferJob
from bot.features.reminders.near_date_look import OfferLook
from bot.features.reminders.near_dates import NearDates
from bot.features.reminders.plain import PlainReminders
from bot.features.reminders.promises import ReminderAid
from bot.features.reminders.reminders import Reminders
from bot.features.reminders.tasks import Tasks
from bot.features.reminders.tools import reminder_tools
from bot.kernel import Kernel
from memory.consolidation.consolidation import BACKGROUND_TIMEOUT_FACTOR
from pipeline.models.memory_prompts import ModelConsolidator
from pipeline.tools.cited_writes import CitedWrites

PURPOSE = "offer"


class RemindersFeature(Feature):
    name = "reminders"
    reminders: Reminders
    delivery: ReminderDelivery
    tasks: Tasks
    near: NearDates

    async def open(self, kernel: Kernel) -> Contributions:
        memory, clock = kernel.memory, kernel.clock

        def can_introduce(session_id: str) -> bool:
            return memory.notices_of.is_enabled(session_id) and not memory.zone_of.has_chosen(session_id)

        self.reminders = Reminders(memory.database, clock, memory.zone_of, can_introduce)
        self.delivery = ReminderDelivery(memory.database, memory.preferences.get_language, clock)
        self.tasks = Tasks(memory.database, clock)
        # Without memory, no reminder can be set, but reminders that were set before are delivered.
        known = Contributions(commands=[ReminderCommands(self.reminders)], due=[self.delivery], tasks=[self.tasks])
        if not kernel.settings.memory_enabled:
            return known
        self.near = self._create_near_dates(kernel)
        writes = CitedWrites(kernel.checker, memory.entries, memory.zone_of)
        return replace(
            known,
            tools=reminder_tools(self.reminders, writes),
            aids=[ReminderAid(PlainReminders(self.reminders, clock), clock)],
            periodic=[DateOfferJob(self.near, memory.jobs, memory.notices_of.is_enabled, clock)],
        )

    def _create_near_dates(self, kernel: Kernel) -> NearDates:
        memory = kernel.memory
        ask = ModelConsolidator(kernel.setup.model, kernel.clock, PURPOSE)
        seconds = kernel.settings.consolidation_timeout * BACKGROUND_TIMEOUT_FACTOR
        look = OfferLook(ask, kernel.setup.abilities.is_reliable, seconds)
        return NearDates(memory.database, self.reminders, look, memory.preferences.get_language, kernel.clock)
