"""Work that goes on beside the turns."""
