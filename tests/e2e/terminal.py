# SPDX-License-Identifier: Apache-2.0
"""Programs on a terminal of their own. `terminal.py COMMAND...` prints what the command sends to it, and
ends with the command's exit status."""
import os
import pty
import sys


def on_terminal(command, environment=None, watch=None):
    """Returns the exit status (negative: a signal's number) and all that the command sent. `watch` is called
    with the process and the bytes so far whenever there are more, until it returns true."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(environment or {})
        os.execv(command[0], command)
    text = b""
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:
            break
        if not some:
            break
        text += some
        if watch and watch(process, text):
            watch = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), text


if __name__ == "__main__":
    status, sent = on_terminal(sys.argv[1:])
    sys.stdout.buffer.write(sent)
    sys.exit(status)
