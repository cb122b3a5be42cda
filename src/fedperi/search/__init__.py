"""The coordinator's search for the graph: over regrets, knowing no site, no data and no network."""
