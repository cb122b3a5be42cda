"""How strong causes are: direct and total effects at each site and in common, from the sites' summaries alone."""
