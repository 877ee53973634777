"""Numbers that people and programs name things by, such as `#12`: read in one way, and within what a database holds."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

MAX_DIGITS = 15
"""Digits of a number. JavaScript and SQLite hold all of these exactly."""
MAX_NUMBER = 10**MAX_DIGITS - 1
NUMBER = rf"[0-9]{{1,{MAX_DIGITS}}}"
"""Regular expression of a number. `\\d` would match the digits of other scripts."""
RowNumber = Annotated[int, Field(ge=0, le=MAX_NUMBER)]

_NUMBER = re.compile(NUMBER)


def parse_number(digits: str) -> int | None:
    """Return the number that a text is. None for a text of anything else than up to MAX_DIGITS digits."""
    return int(digits) if _NUMBER.fullmatch(digits) else None


def parse_reference(text: str) -> int | None:
    """Return the number that a person writes as `12` or `#12`. None for other text."""
    return parse_number(text.strip().removeprefix("#"))
