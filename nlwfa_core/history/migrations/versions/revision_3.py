"""Sessions of a class: their members, the members' answers, and what they hand in."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"

JSON = sa.JSON(none_as_null=True)


def upgrade() -> None:
    op.create_table(
        "class_sessions",
        sa.Column("code", sa.String(8), primary_key=True),
        sa.Column("teacher", sa.String(64), nullable=False),
        sa.Column("opener", sa.String(64), nullable=False, server_default="", index=True),
        sa.Column("opened", sa.Float, nullable=False, index=True),
        sa.Column("closed", sa.Float),
        sa.Column("opens", sa.String(128)),
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
    for table in ("class_hand_ins", "class_answers", "class_members", "class_sessions"):
        op.drop_table(table)
