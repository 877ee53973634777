"""What came and what is to be sent, and what is kept for it: buttons, notices, chats that moved."""
