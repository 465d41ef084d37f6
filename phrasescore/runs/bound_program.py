"""A script that replaces itself by a program, which the kernel kills when the parent ends.

    python -I -S bound_program.py PARENT REPORT SIGNALS PROGRAM [ARGUMENT ...]

PARENT is the process id of the parent. REPORT is a file descriptor that gets the error number if
PROGRAM cannot be started. SIGNALS are the numbers, separated by commas, of signals that Python
ignores but PROGRAM must not ignore. The script is run as a file and imports little, so that it
starts quickly.
"""

import ctypes
import os
import sys

_SET_PARENT_DEATH_SIGNAL, _KILL = 1, 9


def main() -> None:
    """Replace this process by the program."""
    parent, report, signals, program, *arguments = sys.argv[1:]
    os.set_inheritable(int(report), False)
    library = ctypes.CDLL(None)
    library.prctl(_SET_PARENT_DEATH_SIGNAL, _KILL, 0, 0, 0)
    if os.getppid() != int(parent):
        os._exit(1)  # the parent ended before the kernel was told to watch it
    for number in signals.split(","):
        library.signal(int(number), None)
    try:
        os.execvp(program, [program, *arguments])
    except OSError as error:
        os.write(int(report), str(error.errno).encode())
        os._exit(127)


if __name__ == "__main__":
    main()
