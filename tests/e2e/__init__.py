"""The whole program, as people and service managers meet it."""
