"""Whose runs are whose; an index, so that the newest of many runs are found, and runs counted,
without reading all.
"""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.create_table(
        "owned",
        sa.Column("owner", sa.String(64), primary_key=True),
        sa.Column("run", sa.String(64), primary_key=True, index=True),
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("tags", sa.JSON(none_as_null=True), nullable=False, server_default="[]"),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("removed", sa.Float),
    )
    op.create_index(
        "ix_runs_shown", "runs", ["deleted", "submitted", "key", "state", "learner", "source"]
    )


def downgrade() -> None:
    op.drop_index("ix_runs_shown", "runs")
    op.drop_table("owned")
