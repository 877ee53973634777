"""What people say and what the commands answer, whatever the channel."""
