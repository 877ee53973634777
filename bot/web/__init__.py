"""The one web server of the process: what it shows, and what may be sent to it."""
