"""What the embedded model has read so far, kept from one run to the next.

Reading a prompt again is most of what the first answer after a start takes. The file is there only while the model is
not running; it holds the last conversation in the engine's own form, so only its owner may read it, and what deletes
everything deletes it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import structlog

if TYPE_CHECKING:
    from pathlib import Path

log = structlog.get_logger(__name__)

SECONDS = 5.0
"""How long keeping or taking it up may take; the engine does neither while it answers."""


class PromptState:
    """The state of a model's one slot. `folder` is where the engine is told to keep such files."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._path = folder / name

    async def save(self, base_url: str, api_key: str) -> None:
        """Keep what the slot holds. A failure costs time at the next start and nothing else."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path.touch(mode=0o600)
        if not await self._act("save", base_url, api_key):
            self.forget()

    async def restore(self, base_url: str, api_key: str) -> None:
        """Have the slot hold again what was kept."""
        if self._path.exists():
            await self._act("restore", base_url, api_key)
            self.forget()

    async def erase(self, base_url: str, api_key: str) -> None:
        """Have the slot hold nothing."""
        await self._act("erase", base_url, api_key)

    def forget(self) -> None:
        """Delete what was kept."""
        self._path.unlink(missing_ok=True)

    async def _act(self, action: str, base_url: str, api_key: str) -> bool:
        url = f"{base_url.removesuffix('/v1')}/slots/0"
        try:
            async with httpx.AsyncClient(timeout=SECONDS, headers={"Authorization": f"Bearer {api_key}"}) as client:
                answer = await client.post(url, params={"action": action}, json={"filename": self._path.name})
            answer.raise_for_status()
        except httpx.HTTPError as error:
            log.info("prompt_state_failed", action=action, error=str(error) or type(error).__name__)
            return False
        log.debug("prompt_state", action=action)
        return True
