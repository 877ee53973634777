"""Skills: folders with a SKILL.md that explains how to do something (docs/tools.md)."""
