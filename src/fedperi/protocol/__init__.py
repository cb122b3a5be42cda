"""Messages between a coordinator and its sites, how they are written and read, and what a site allows."""
