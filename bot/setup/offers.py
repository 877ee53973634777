"""Models that features offer in `mneme setup`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.settings import Settings


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model that the user can choose.

    Args:
        choose: saves the choice in the settings file, and says what to do next.
    """

    description: str
    choose: Callable[[Path, Settings], None]


@dataclass(frozen=True, slots=True)
class ModelOffers:
    """The models of a feature. `note` says why there are none."""

    models: Sequence[ModelOffer] = ()
    note: str = ""
