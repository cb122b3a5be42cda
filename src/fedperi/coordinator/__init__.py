"""What runs at the coordinator: rounds, agreement between sites, journal, checks of answers."""
