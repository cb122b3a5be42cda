"""The status pages of `fedperi site` and `fedperi coordinate`."""
