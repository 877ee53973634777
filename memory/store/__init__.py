"""The one database: what is remembered as a unit, and its index."""
