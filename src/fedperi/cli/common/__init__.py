"""What the commands share: options, methods, plans, outcomes, and the one way to print."""
