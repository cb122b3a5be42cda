"""What runs at a site: answers, noise, limits, log."""
