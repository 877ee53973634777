"""The link by which an owner claims the bot: one tap on this machine, or a picture for the phone's camera."""

from __future__ import annotations

import io


def claim_link(bot: str, code: str) -> str:
    """Where Telegram opens `bot` (its name without @) and sends it `/start CODE`.

    Of a code Telegram takes up to 64 of the characters A-Z, a-z, 0-9, `_` and `-`.
    """
    return f"https://t.me/{bot}?start={code}"


def qr_code(text: str) -> list[str]:
    """`text` as a QR code, in lines of half blocks with the quiet zone that cameras need around it."""
    import segno

    picture = io.StringIO()
    segno.make_qr(text, error="l").terminal(picture, compact=True)
    return picture.getvalue().splitlines()
