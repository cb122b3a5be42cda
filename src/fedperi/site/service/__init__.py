"""What runs at a site over a network: messages are read, policy and people asked, answers given and written down."""
