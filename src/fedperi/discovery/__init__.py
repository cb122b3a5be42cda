"""Discovery from one table alone: PC, GES, and adapters to other packages."""
