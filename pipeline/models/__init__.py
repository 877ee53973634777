"""Models: what one is to the pipeline, how it is reached at an OpenAI-compatible endpoint, and which one answers."""
