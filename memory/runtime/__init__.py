"""Tables of the running service: preferences of chats, usage, jobs, model endpoints and published menus."""
