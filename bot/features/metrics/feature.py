"""The feature metrics."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bot.feature import Contributions, Feature
from bot.kernel import App, Kernel
from config.settings import Settings

if TYPE_CHECKING:
    from bot.features.metrics.metrics import Metrics


class MetricsFeature(Feature):
    name = "metrics"
    metrics: Metrics

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.metrics_port is not None else "METRICS_PORT is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.metrics.metrics import Metrics

        self.metrics = Metrics(kernel.usage.compute_cost)
        return Contributions(
            servers=[self._serve], on_turn=[self.metrics.count_turn], on_tokens=[self.metrics.count_tokens]
        )

    def _serve(self, app: App) -> contextlib.AbstractAsyncContextManager[None]:
        from bot.features.metrics.metrics import serve_metrics

        assert app.settings.metrics_port is not None, "otherwise it is off"  # noqa: S101
        return serve_metrics(app, self.metrics, app.settings.metrics_port)
