"""What a model is to the pipeline, and which one answers."""
