"""Models of functions over strings: WFA, NL-WFA, n-gram, recurrent networks; their weights, their states, their files."""
