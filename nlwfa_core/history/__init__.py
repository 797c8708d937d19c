"""Every run there was, in a database."""
