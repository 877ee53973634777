"""What is to be told at its hour: reminders, when they come, and the dates that one may be offered for."""
