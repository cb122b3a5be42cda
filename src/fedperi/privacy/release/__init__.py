"""Release files: one noisy summary per table, its noise, its text, its signature."""
