"""Results as files: what is written, how it is saved as a folder, and how it is read again."""
