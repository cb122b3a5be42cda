"""Before rows are looked at: how tables are opened, which columns count, and what is done to cells."""
