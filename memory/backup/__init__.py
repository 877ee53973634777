"""A consistent copy of everything, its examination, and the way back."""
