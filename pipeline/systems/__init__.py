"""The eight systems of the pipeline; pipeline/order.py puts them in order."""
