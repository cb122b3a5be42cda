"""What several tests share: random graphs, networks, oracles, files, a Flower link, runs of the command."""
