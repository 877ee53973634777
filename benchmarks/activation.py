"""How good the ranking of layer B is on the labelled cases, and how long activation takes among many memories."""

from __future__ import annotations
