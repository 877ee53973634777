"""Near dates: a reminder is offered for a date in memory, such as a birthday or the end of a passport."""
