"""Tools of external servers that speak the Model Context Protocol (MCP).

The package `mcp` is imported only to connect to a server, so it is optional.
"""
