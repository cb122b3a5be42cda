"""FCI: what can be known about causes when some of them are hidden."""
