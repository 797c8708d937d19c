"""Learners: from a Hankel matrix, or from strings, to a model and a report of how it went."""
