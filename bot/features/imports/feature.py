"""The feature imports: conversations and memories of other programs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.feature import MEMORY_OFF, Contributions, Feature
from bot.features.imports.settings import ImportsSettings
from bot.kernel import Kernel
from bot.services import MemoryServices
from config.settings import Settings
from config.texts import N_, _
from memory.buttons import Button, Notice
from memory.messages import Provenance
from pipeline.order import OnFailure, Phase, Step
from pipeline.turn import Turn

if TYPE_CHECKING:
    from bot.features.imports.importing import ForeignImport
    from bot.features.imports.job import BackgroundImportLearning

PURPOSE = "import"
STEP = Step(14, "PastedLists", OnFailure.CONTINUE, Phase.PREPARE)
_OFFER = N_("This looks like a list of memories. /import imports them for you to confirm, and /undo takes them back.")


class ImportsFeature(Feature):
    name = "imports"
    learning: BackgroundImportLearning
    _importer: ForeignImport | None = None

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.memory_enabled else MEMORY_OFF

    def create_importer(self, memory: MemoryServices) -> ForeignImport:
        from bot.features.imports.importing import ForeignImport

        if self._importer is None:
            self._importer = ForeignImport(memory.database, memory.ledger, memory.zone_of)
        return self._importer

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.imports.commands import ImportCommands
        from bot.features.imports.export_reader import ExportReader
        from bot.features.imports.job import BackgroundImportLearning
        from bot.features.imports.learning import ImportLearning
        from memory.consolidation.extractor import Extractor
        from memory.facts.checker import FactChecker
        from memory.facts.second_look import SecondLook
        from pipeline.models.memory_prompts import ModelConsolidator

        memory, setup = kernel.memory, kernel.setup
        importer = self.create_importer(memory)
        ask = ModelConsolidator(setup.model, kernel.clock, PURPOSE)
        learning = ImportLearning(
            memory.database,
            memory.ledger,
            memory.facts,
            Extractor(
                ask, setup.abilities, memory.facts, memory.counter, kernel.clock, memory.zone_of, memory.find_candidates
            ),
            FactChecker(SecondLook(ask, setup.abilities.is_reliable)),
            partial(kernel.usage.count_tokens_today_for, PURPOSE),
            kernel.settings.group(ImportsSettings).import_daily_tokens,
        )
        self.learning = BackgroundImportLearning(
            learning, memory.database, memory.notices, kernel.languages, setup.quiet
        )
        return Contributions(
            commands=[ImportCommands(memory, importer, kernel.media, self.learning)],
            jobs=[self.learning],
            files=[ExportReader(importer)],
            systems=[(STEP, PastedLists())],
        )


class PastedLists:
    """PastedLists (14): offers to import a pasted list of memories.

    Usually another assistant wrote it. So the user hasn't said this, and nothing is learned from the message.
    """

    name = "PastedLists"

    async def process(self, turn: Turn) -> None:
        from bot.features.imports.memories import is_list

        if turn.replaces_turn is not None or turn.session.private:
            return
        for message in turn.user_messages:
            if message.provenance is Provenance.TYPED and message.speaker is None and is_list(message.content):
                turn.pasted.append(message)
                turn.notices.append(Notice(_(_OFFER), ((Button(_("Import"), "/import"),),)))
