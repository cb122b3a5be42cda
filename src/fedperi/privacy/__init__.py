"""Differential privacy: mechanisms, prices, the ledger and the release file. Wraps statistics or answers."""
