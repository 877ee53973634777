"""Photos, files and recordings, stored by reference together with their extracted text."""
