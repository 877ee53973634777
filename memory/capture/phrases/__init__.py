"""In which words people state something to be kept: a table for each language, compiled when it is first needed."""
