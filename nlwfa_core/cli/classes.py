"""Define the command `classes`, with which an administrator lists and deletes the class sessions of
a lab's folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import RecipeError, listed, plural
from ..files import to_json
from ..metrics.tables import Column
from .recipe_options import no_effect
from .terminal import AsJson, Output, lab_folder
from .text import aligned


def classes(
    home: Annotated[
        Path | None, typer.Option(help="The lab's folder; by default NLWFA_HOME.")
    ] = None,
    delete: Annotated[
        list[str] | None, typer.Option(help="Delete the session with this code; can be repeated.")
    ] = None,
    delete_unjoined: Annotated[
        bool, typer.Option("--delete-unjoined", help="Delete the sessions that nobody has joined.")
    ] = False,
    as_json: AsJson = False,
) -> Output:
    """List the class sessions of a lab's folder, without names or answers, or delete some of them
    permanently.

    The lab may be running.
    """
    from ..display.run_tables import format_time
    from ..history.classes import Classes, SessionSummary, read_code
    from ..history.database import database_errors_as_sentences
    from ..history.runs import History

    if as_json and (delete or delete_unjoined):
        raise no_effect(
            "--json", "--delete" if delete else "--delete-unjoined", "a list of all sessions"
        )
    folder = lab_folder(home)
    codes = {read_code(code) for code in delete or ()}
    with database_errors_as_sentences():
        runs = History.open(folder)
        try:
            rooms = Classes(runs.engine)
            sessions = rooms.summaries()
            missing = sorted(codes - {session.code for session in sessions})
            if missing:
                raise RecipeError(
                    f"there is no class session {listed(missing)}; nothing was deleted"
                )
            if delete_unjoined:
                codes |= {session.code for session in sessions if not session.num_members}
            rooms.delete_by_administrator(codes)
        finally:
            runs.close()
    if codes or delete_unjoined:
        return Output(
            "deleted: "
            f"{plural(len(codes), 'class session')}{f' ({listed(sorted(codes))})' if codes else ''}"
        )
    if as_json:
        return Output(to_json([vars(session) for session in sessions]))
    if not sessions:
        return Output(f"no class sessions in {folder}")

    def column(session: SessionSummary) -> dict[str, str]:
        return {
            "code": session.code,
            "opened": format_time(session.opened),
            "closed": format_time(session.closed),
            "members": f"{session.num_members:,}",
            "answers": f"{session.num_answers:,}",
            "hand-ins": f"{session.num_hand_ins:,}",
            "last seen": format_time(session.last_seen),
        }

    rows = [column(session) for session in sessions]
    table: dict[str, Column] = {title: [row[title] for row in rows] for title in rows[0]}
    return Output(f"{aligned(table)}\n{plural(len(sessions), 'class session')}")
