"""Detection of lasting statements in typed messages, without a model."""
