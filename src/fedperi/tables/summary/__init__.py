"""What a site says: its summary, how it is made, compared with others, and checked before it may leave exactly."""
