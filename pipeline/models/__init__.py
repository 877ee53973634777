"""Model calls: requests and answers, the APIs of providers, and the choice among models."""
