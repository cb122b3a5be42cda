"""The methods that the paper compares with; each folder has the coordinator's half and the site's half."""
