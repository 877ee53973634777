"""Search by meaning: vectors of messages and memories, and the models that compute them."""
