"""The settings of search by meaning."""

from __future__ import annotations

from pydantic import HttpUrl, SecretStr, model_validator

from config.groups import SettingsGroup

LOCAL_EMBEDDER = "multilingual-e5-small"
"""The embedding model that runs on this machine. It needs the extra `embeddings`."""
# Includes the former model: a .env that still names it must not send texts to an endpoint.
_LOCAL_EMBEDDERS = {LOCAL_EMBEDDER, "bge-small-en-v1.5"}


class VectorsSettings(SettingsGroup):
    embedding_model: str | None = None
    embedding_base_url: HttpUrl | None = None
    embedding_api_key: SecretStr | None = None

    @model_validator(mode="after")
    def _check_model(self) -> VectorsSettings:
        if self.embedding_model is None and self.has_endpoint:
            raise ValueError(
                "EMBEDDING_MODEL is needed with EMBEDDING_BASE_URL or EMBEDDING_API_KEY: set it to the model to use"
            )
        return self

    @property
    def has_endpoint(self) -> bool:
        return bool(self.embedding_base_url or self.embedding_api_key)

    @property
    def is_local(self) -> bool:
        return self.embedding_model in _LOCAL_EMBEDDERS and not self.has_endpoint
