"""What is said between a coordinator and its sites: messages, their code, and what a site allows."""
