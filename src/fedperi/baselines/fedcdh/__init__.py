"""FedCDH."""
