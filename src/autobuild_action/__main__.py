"""``python -m autobuild_action``."""

import sys

from autobuild_action.cli import main

if __name__ == "__main__":
    sys.exit(main())
