"""Servers that stand in for the services Mneme talks to, over real HTTP on this machine."""
