"""Commands for the owner of a site: what waits for a decision, and the decision."""
