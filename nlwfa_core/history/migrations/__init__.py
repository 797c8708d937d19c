"""How the history's tables came to be: `env` is what alembic runs, `versions` has a file a step (see `history.database`)."""
