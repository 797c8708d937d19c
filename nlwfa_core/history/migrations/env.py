"""Run by alembic to migrate the tables, on the connection and in the transaction that
`history.database.migrate` has opened.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
