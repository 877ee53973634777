"""Parsing of the numbers that people and programs use as references, such as `#12`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

MAX_DIGITS = 15
"""JavaScript and SQLite represent all numbers with this many digits exactly."""
MAX_NUMBER = 10**MAX_DIGITS - 1
NUMBER = rf"[0-9]{{1,{MAX_DIGITS}}}"
"""A regular expression for a number. `\\d` would also match the digits of other scripts."""
RowNumber = Annotated[int, Field(ge=0, le=MAX_NUMBER)]

_NUMBER = re.compile(NUMBER)


def parse_number(digits: str) -> int | None:
    """Parse up to MAX_DIGITS digits. Return None for any other text."""
    return int(digits) if _NUMBER.fullmatch(digits) else None


def parse_reference(text: str) -> int | None:
    return parse_number(text.strip().removeprefix("#"))
