"""The tables: runs, people's own lists of them, and sessions of a class with their members' answers
and hand-ins.
"""

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
    # the newest of many runs are found, and runs counted, without reading all
    op.create_index(
        "ix_runs_shown", "runs", ["deleted", "submitted", "key", "state", "learner", "source"]
    )
    op.create_table(
        "owned",
        sa.Column("owner", sa.String(64), primary_key=True),
        sa.Column("run", sa.String(64), primary_key=True, index=True),
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        sa.Column("tags", JSON, nullable=False, server_default="[]"),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("removed", sa.Float),
    )
    op.create_table(
        "class_sessions",
        sa.Column("code", sa.String(8), primary_key=True),
        sa.Column("teacher", sa.String(64), nullable=False),
        sa.Column("opener", sa.String(64), nullable=False, server_default="", index=True),
        sa.Column("opened", sa.Float, nullable=False, index=True),
        sa.Column("closed", sa.Float),
        sa.Column("opens", sa.String(128)),
        sa.Column("place", sa.String(128), nullable=False, server_default=""),
        sa.Column("moved", sa.Float),
        sa.Column("locked", sa.Float),
        sa.Column("revealed", JSON, nullable=False, server_default="[]"),
    )
    op.create_table(
        "class_members",
        sa.Column("session", sa.String(8), primary_key=True),
        sa.Column("member", sa.String(64), primary_key=True),
        sa.Column("nickname", sa.Text, nullable=False, server_default=""),
        sa.Column("joined", sa.Float, nullable=False),
        sa.Column("place", sa.String(128), nullable=False, server_default=""),
        sa.Column("seen", sa.Float, nullable=False),
        sa.Column("removed", sa.Float),
    )
    op.create_table(
        "class_answers",
        sa.Column("session", sa.String(8), primary_key=True),
        sa.Column("member", sa.String(64), primary_key=True),
        sa.Column("task", sa.String(128), primary_key=True),
        sa.Column("seed", sa.BigInteger, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("credit", sa.Float, nullable=False),
        sa.Column("moment", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float),
    )
    op.create_table(
        "class_hand_ins",
        sa.Column("session", sa.String(8), primary_key=True),
        sa.Column("member", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("moment", sa.Float, nullable=False),
    )


def downgrade() -> None:
    for table in (
        "class_hand_ins",
        "class_answers",
        "class_members",
        "class_sessions",
        "owned",
        "runs",
    ):
        op.drop_table(table)
