"""One turn: the ordered systems, the model client, tools, token budgets and prompts."""

from pipeline.models.sdk_types import delay_sdk_types

delay_sdk_types()  # Here, since any module of this package may be the first to import the SDK.
