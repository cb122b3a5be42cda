"""What a run did, found and assumed, in the sentences of a paper; how to cite it."""
