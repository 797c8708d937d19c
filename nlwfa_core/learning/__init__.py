"""Learners: from a Hankel matrix to a model and a report of how it went."""
