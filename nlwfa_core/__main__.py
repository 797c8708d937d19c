"""Run the command line (`nlwfa` or `python -m nlwfa_core`), or print how to install it."""

import sys

from .errors import MissingExtra


def main() -> int:
    """Run the command line, and return the exit code, which is 2 if its libraries are not
    installed.
    """
    try:
        from .cli.main import main as run
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
