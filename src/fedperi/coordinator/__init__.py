"""The coordinator: rounds, agreement between sites, the journal, and checks of answers."""
