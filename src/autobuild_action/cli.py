"""The command line; usage errors end with status 3, as a wrong configuration does."""

from __future__ import annotations

import sys

import click

from autobuild_action import __version__
from autobuild_action.errors import CLI_EXIT
from autobuild_action.model import Reason


@click.group()
@click.version_option(__version__, prog_name="autobuild")
def autobuild() -> None:
    """Dialectical autocoding: a Player implements, a Coach judges, measurements decide, people review."""


@autobuild.command()
def action() -> None:
    """Run as a step of GitHub Actions; everything comes from the runner's environment."""
    from autobuild_action.action import main as run  # noqa: PLC0415  slow to import, and `--help` needs none of it

    sys.exit(run())


def main() -> int:
    """Run the command line; answers the exit status."""
    try:
        autobuild(standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        return CLI_EXIT[Reason.CONFIGURATION]
    except click.Abort:
        return CLI_EXIT[Reason.CANCELLED]
    return 0
