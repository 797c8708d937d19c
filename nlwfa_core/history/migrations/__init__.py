"""Migrations of the history's tables: alembic runs `env`, and `versions` has one file for each step
(see `history.database`).
"""
