"""How the history's tables came to be, one step a file in `versions`: alembic's, run by `history.database.migrate`."""
