# SPDX-License-Identifier: Apache-2.0
"""What the kinds of attack share: runs with limits, and the table of what came of them."""
import collections
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SANITIZERS = (b"AddressSanitizer", b"ThreadSanitizer", b"runtime error:", b"LeakSanitizer")
MOST_BYTES = 64 << 20  # of output, of a file
MOST_MEMORY = 2 << 30  # docs/sandbox.md with --memory-limit=256M is 1.5 GiB, and what is taken between two looks

Result = collections.namedtuple("Result", "status out err seconds memory hung")


class Attack:
    """The build under attack, a folder for its files, and the counts."""

    COLUMNS = ("runs", "crashes", "hangs", "wrong", "losses", "escapes", "memory", "incomparable")

    def __init__(self, build, keep):
        build = os.path.abspath(build)  # programs run in other folders
        self.bin = os.path.join(build, "bin")
        self.keep = keep
        self.folder = tempfile.mkdtemp(prefix="attack.")
        self.counts = collections.defaultdict(collections.Counter)
        self.told = collections.Counter()
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", LD_LIBRARY_PATH=os.path.join(build, "lib"))
        for name in list(self.environment):
            if name.startswith("HAL_") and name != "HAL_CACHE_DIR":
                del self.environment[name]
        here = os.path.dirname(os.path.abspath(__file__))
        self.program = os.environ.get("ATTACK_PROGRAM", os.path.join(build, "tests", "attack-program"))
        self.here = here

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name):
        return os.path.join(self.bin, name)

    def start(self, command, before=None, **more):
        """A process that leads its session; its output goes into files."""
        environment = dict(self.environment, **more)

        def prepare():
            os.setsid()
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background process ignores it
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if before:
                before()

        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder,
                                   env=environment, preexec_fn=prepare)
        process.files = (out, err)
        process.begin = time.monotonic()
        return process

    def finish(self, process, limit=20):
        hung = threading.Event()

        def stop():
            hung.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, stop)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = status = os.waitstatus_to_exitcode(status)
        texts = []
        for file in process.files:
            file.seek(0)
            texts.append(file.read(MOST_BYTES))
            file.close()
        return Result(status, *texts, time.monotonic() - process.begin, usage.ru_maxrss << 10, hung.is_set())

    def run(self, command, limit=20, before=None, **more):
        return self.finish(self.start(command, before, **more), limit)

    def count(self, kind, column, what=None, *files):
        """`what` says how to do it again; the files are kept. Each sort of finding is told five times."""
        self.counts[kind][column] += 1
        if what is None:
            return
        self.told[kind, column] += 1
        if self.told[kind, column] > 5:
            return
        print(f"{kind}: {column}: {what}", file=sys.stderr, flush=True)
        for file in files:
            if self.keep and os.path.exists(file):
                os.makedirs(self.keep, exist_ok=True)
                name = f"{kind}-{column}-{self.told[kind, column]}-{os.path.basename(file)}"
                shutil.copy(file, os.path.join(self.keep, name))

    def judge(self, kind, result, command, statuses, *files):
        """What holds for every run. True: nothing was wrong."""
        text = " ".join(os.path.basename(c) for c in command)
        self.counts[kind]["runs"] += 1
        bad = None
        if result.hung:
            bad = ("hangs", "does not end")
        elif result.status < 0 or result.status > 127 or any(s in result.err for s in SANITIZERS):
            bad = ("crashes", f"status {result.status}: {result.err[-300:].decode(errors='replace')}")
        elif result.status not in statuses:
            bad = ("wrong", f"exit status {result.status}: {result.err[-300:].decode(errors='replace')}")
        elif has_escape(result.out) or has_escape(result.err):
            bad = ("escapes", "control characters in the output")
        elif result.memory > MOST_MEMORY:
            bad = ("memory", f"{result.memory >> 20} MiB")
        if bad:
            self.count(kind, bad[0], f"{text}: {bad[1]}", *files)
        return bad is None

    def print_table(self):
        print(f"{'kind':<24}" + "".join(f"{c:>13}" for c in self.COLUMNS))
        for kind in sorted(self.counts):
            print(f"{kind:<24}" + "".join(f"{self.counts[kind][c]:>13}" for c in self.COLUMNS))

    def is_clean(self):
        return not any(counts[c] for counts in self.counts.values() for c in self.COLUMNS[1:7])

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def has_escape(text):
    """A character that a terminal would act on."""
    plain = text.decode(errors="replace")
    return any((ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in plain)
