"""The memory page: what is remembered, seen and mended in a browser. Needs starlette, and is imported late."""
