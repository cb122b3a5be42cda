"""Commands that read the results of an earlier run."""
