"""FCI: what can be known of the causes when some of them are hidden."""
