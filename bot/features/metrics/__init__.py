"""Metrics for Prometheus, `/healthz`, and the webhook, at METRICS_PORT (docs/deploy.md)."""
