"""`mneme setup`: from nothing to a bot that runs."""
