"""Placeholder until the capture branch is merged."""

from __future__ import annotations


def candidates(text: str) -> tuple[str, ...]:
    """Sentences that may hold something lasting."""
    return ()
