"""Follow changes while a coordinator runs: the keys of its sites, and its own certificate."""
