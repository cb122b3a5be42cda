"""`fedperi` in a shell: ask the server in `forked.py` to run it, pass on signals, and exit with its code.

    python -I -S asking.py NUMBER ARGUMENTS

NUMBER is the file descriptor of the server. This file imports only modules that load quickly.
"""

import json
import os
import signal
import socket
import sys
from types import FrameType


def main() -> int:
    """Run one command."""
    server = socket.socket(fileno=int(sys.argv[1]))
    told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109
    socket.send_fds(server, [asked], [0, 1, 2, theirs.fileno()])
    theirs.close()
    pid = json.loads(told.recv(100))

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(pid, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    code: int = json.loads(told.recv(100))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
