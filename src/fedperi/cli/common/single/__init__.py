"""Parts that only one command needs, `run` or `release`."""
