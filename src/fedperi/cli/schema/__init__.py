"""`fedperi schema`: one schema for all sites, before any site connects."""
