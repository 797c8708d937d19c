"""The table of runs."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

JSON = sa.JSON(none_as_null=True)


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("recipe", JSON, nullable=False),
        sa.Column("version", sa.String(32), nullable=False),
        sa.Column("source", sa.String(32), nullable=False),
        sa.Column("learner", sa.String(32), nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("num_strings", sa.Integer, nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("tags", JSON, nullable=False, server_default="[]"),
        sa.Column("scores", JSON),
        sa.Column("validation", JSON),
        sa.Column("diagnostics", JSON),
        sa.Column("curves", JSON),
        sa.Column("seconds", JSON),
        sa.Column("sentences", JSON),
        sa.Column("message", sa.Text),
        sa.Column("server", sa.String(32), nullable=False, server_default="", index=True),
        sa.Column("submitted", sa.Float, nullable=False, index=True),
        sa.Column("started", sa.Float),
        sa.Column("ended", sa.Float),
        sa.Column("deleted", sa.Float),
    )


def downgrade() -> None:
    op.drop_table("runs")
