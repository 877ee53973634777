"""One piece of the house, with a database of its own at the most."""
