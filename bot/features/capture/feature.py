"""The feature capture."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from bot.feature import MEMORY_OFF, Contributions, Feature
from bot.kernel import App, Kernel
from config.settings import Settings
from pipeline.order import OnFailure, Phase, Step

if TYPE_CHECKING:
    from bot.features.capture.job import CaptureJudging

CAPTURING = Step(15, "AutoCapture", OnFailure.CONTINUE, Phase.PREPARE)
JUDGING = Step(45, "CaptureJudging", OnFailure.CONTINUE, Phase.AFTER)
PURPOSE = "capture"


class CaptureFeature(Feature):
    name = "capture"
    job: CaptureJudging

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.memory_enabled else MEMORY_OFF

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.capture.auto_capture import AutoCapture
        from bot.features.capture.corrections import Corrections
        from bot.features.capture.job import CaptureJudging
        from bot.features.capture.look import CaptureLook
        from bot.features.capture.review import CaptureReview
        from bot.features.capture.statements import find_candidates
        from memory.consolidation.consolidation import BACKGROUND_TIMEOUT_FACTOR
        from pipeline.models.memory_prompts import ModelConsolidator

        memory, setup = kernel.memory, kernel.setup
        corrections = Corrections(memory.database, memory.search)
        review = CaptureReview(
            memory.database,
            memory.ledger,
            memory.learning,
            corrections,
            CaptureLook(ModelConsolidator(setup.model, kernel.clock, PURPOSE), setup.abilities.is_reliable),
            memory.sharing,
            memory.zone_of,
            kernel.settings.consolidation_timeout * BACKGROUND_TIMEOUT_FACTOR,
        )
        self.job = CaptureJudging(review, memory.notices, kernel.languages, setup.quiet, kernel.tasks)
        capture = AutoCapture(
            memory.ledger,
            memory.long_term,
            memory.entries,
            memory.learning,
            corrections,
            memory.sessions,
            memory.zone_of,
            memory.lookup,
            memory.sharing,
            memory.notices_of.is_enabled,
            self.job.collect,
        )
        memory.propose_with(find_candidates)
        return Contributions(systems=[(CAPTURING, capture), (JUDGING, self.job)], jobs=[self.job], servers=[_warming])


@contextlib.asynccontextmanager
async def _warming(app: App) -> AsyncIterator[None]:
    from bot.features.capture.statements import warm_up

    async def warm() -> None:
        # A turn that needs the classifier would load it too, or block the whole event loop
        with app.runner.limiter.closed():
            await warm_up()

    app.tasks.start(warm(), "warming")
    yield
