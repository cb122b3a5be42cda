"""What one command alone needs, `run` or `release`."""
