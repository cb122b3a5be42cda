"""Differences between simulated sites: targets, kinds of change, groups of sites."""
