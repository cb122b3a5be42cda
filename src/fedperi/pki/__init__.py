"""Keys and certificates of sites and coordinator."""
