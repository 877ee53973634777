"""Whether what a model says it learned is borne out by what was said: citations, and what code can tell of them."""
