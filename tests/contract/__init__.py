"""What others promise us and we promise them: servers, engines, former versions, settings."""
