"""`mneme setup`: configures a bot step by step."""
