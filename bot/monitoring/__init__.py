"""What a service manager and a monitoring system are told."""
