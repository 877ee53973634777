"""Web search and page reading as tools of the model, without an API key (docs/web.md)."""
