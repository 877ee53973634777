"""What the running service keeps for itself: preferences of chats, jobs, usage, what endpoints take, menus."""
