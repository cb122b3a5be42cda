"""Direct and total effects at each site and pooled over sites, from the sites' summaries alone."""
