"""Results as files: their format, and how they are saved and loaded."""
