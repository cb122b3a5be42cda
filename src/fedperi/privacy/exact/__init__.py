"""Exact summaries that leave a site: the file, and what it reveals, in words. Nothing here is private."""
