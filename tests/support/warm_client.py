"""A stand-in for Python: asks a server for a warm process, waits for it, and has its status.

    python -I -S warm_client.py SERVER [ARGUMENT ...]

SERVER is the socket of the server. The process has the folder, the environment and the standard
streams of this program, gets the signals that this program gets, and is killed if this program is.
"""

import json
import os
import signal
import socket
import sys

PLACE, *ARGUMENTS = sys.argv[1:]


def main() -> None:
    """Ask for the process and wait for its end."""
    request = {"arguments": ARGUMENTS, "environment": dict(os.environ), "children": PLACE}
    request["folder"] = os.getcwd()  # noqa: PTH109 - importing pathlib takes longer than all else
    read, reported = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(PLACE)
        socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2, reported])
    os.close(reported)
    with os.fdopen(read) as report:
        process = int(report.readline())
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(process, number))
        os._exit(json.loads(report.read())["status"] % 256)


main()
