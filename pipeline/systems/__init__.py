"""The eight systems of the pipeline. `pipeline/order.py` sets their order."""
