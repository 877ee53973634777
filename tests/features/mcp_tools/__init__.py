"""Tests of the feature mcp_tools."""
