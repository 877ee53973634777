"""Servers that replace the services Mneme uses, over real HTTP on this machine."""
