"""What the `structrl` script calls: the command, or one line where its packages are missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; a package that it cannot be imported without is one line and status 1."""
    try:
        from structrl_ros.cli.main import main as run
    except ModuleNotFoundError as error:
        name = error.name or ''
        if name.startswith('structrl_ros'):
            raise
        remedy = '`make install` in the clone installs it; then .venv/bin/structrl doctor'
        sys.stderr.write(f'structrl: {name} is not installed: {remedy}\n')
        raise SystemExit(1) from None
    run()


if __name__ == '__main__':
    main()
