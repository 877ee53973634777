"""A replica of the database at another place, from which another machine can take over."""
