"""The Hankel matrix: which prefixes and suffixes, what is counted, what is done to the entries, which cells are known."""
