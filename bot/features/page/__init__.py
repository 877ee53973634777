"""The memory page, which shows and edits memories in a browser. It needs starlette, so it is imported late."""
