"""Tools of MCP servers: programs of others that speak the Model Context Protocol.

The package `mcp` is imported where a server is connected to, and nowhere else: who has none needs none of it.
"""
