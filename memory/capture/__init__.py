"""Finding what a typed message states to be kept, without a model."""
