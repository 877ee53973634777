"""The settings of tidying."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from config.groups import AnyCase, SettingsGroup


class TidyingSettings(SettingsGroup):
    memory_tidy_day: Annotated[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], AnyCase] = "sun"
    memory_tidy_hour: int = Field(default=4, ge=0, le=23)
