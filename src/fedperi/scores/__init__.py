"""How well a set of parents explains a variable: local scores, masks, shared mechanisms."""
