"""Tidying: each week duplicate memories are merged, faded ones archived, recurring ones promoted."""
