"""`nlwfa`, and `python -m nlwfa_core`: the command line, or one line that says how to install
it.
"""

import sys

from .errors import MissingExtra


def main() -> int:
    """Run the command line; returns the exit code, which is 2 if the libraries of the command line
    are not installed.
    """
    try:
        from .cli.main import main as run
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
