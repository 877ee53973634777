"""The one database: what is remembered as a unit, its changes and its index."""
