"""What is wrong or odd in a table, found before anything is computed."""
