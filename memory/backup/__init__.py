"""A consistent copy of everything, checked, and the way back."""
