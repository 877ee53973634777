"""Tests of the feature mcp_server."""
