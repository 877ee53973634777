"""Tools of other programs over the Model Context Protocol (docs/tools.md)."""
