"""`fedperi schema`: one schema for all sites, before anybody connects."""
