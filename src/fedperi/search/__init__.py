"""The coordinator's search for the graph. It sees only regrets: no sites, no data, no network."""
