"""Serve a script file until SIGINT or SIGTERM, then say whether it was played as written."""

import argparse
import signal
import sys
from pathlib import Path

from .script import load
from .server import ModelServer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m simulators.model", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="YAML or JSON")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="default: a free one, printed")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between the events of a stream")
    options = vars(parser.parse_args())
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before the threads start, so that only sigwait gets them
    with ModelServer(load(options.pop("script")), **options) as server:
        print(server.url, flush=True)
        signal.sigwait(ends)
    try:
        server.check()
    except AssertionError as exc:
        print(exc, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
