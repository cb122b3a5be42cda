"""What a running site or coordinator shows: a page for people, numbers for monitors. Neither loads anything else."""
