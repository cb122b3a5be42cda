"""What sets simulated sites apart: targets, kinds of change, groups of sites."""
