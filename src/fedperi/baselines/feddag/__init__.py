"""FedDAG."""
