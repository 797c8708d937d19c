"""Text that came from a user, made safe for Markdown."""

from __future__ import annotations

import re


def literal(text: str) -> str:
    """Text as Markdown that shows it as it is: sentences may quote a user's symbols.

    Streamlit looks for icons and arrows once more after Markdown has been read, when backslashes no longer help; a word joiner,
    which takes no space, keeps their characters apart.
    """
    apart = re.sub(r":(?=material/|streamlit:)|(?<!\S)[-<>~](?=[-=>])", "\\g<0>\u2060", text)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:~<>|&^=])", r"\\\1", apart)
