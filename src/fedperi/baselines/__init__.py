"""The methods that the paper compares with: both halves of each in one place."""
