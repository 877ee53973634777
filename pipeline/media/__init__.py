"""Received files: their references, their content, and the text of documents."""
