# SPDX-License-Identifier: Apache-2.0
"""The test suite on a mutated tree: which tests may notice, in which order, and whether one does."""
import contextlib
import ctypes
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

STAGES = LIKELY, UNIT, SLOW = range(3)
STAGE_NAMES = ["unit tests that are likely", "other unit tests", "everything else"]
LEAST_SECONDS, MOST_SECONDS = 60, 600  # that a test may take, before it hangs
CHUNK_SECONDS = 30  # of tests, between two looks
MOST_PROCESSES = 100  # of the tests that run at the same time
LOOK_SECONDS, MOST_LOOKS = 0.25, 12
MOST_FILE_BYTES = 40 << 30  # what a mutated program may write
PR_SET_CHILD_SUBREAPER = 36


def words_of(name):
    return set(re.split(r"[^a-z0-9]+|_", name.lower())) - {"", "c", "test", "hal", "e2e"}


def become_reaper():
    """Orphans of tests become children of this process, which can then end them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root):
    """All processes below this one that have not ended."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            state, parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(path.parent.name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found[1:]


def end_descendants(root):
    """All stop before they end: one that makes others would else be faster."""
    while processes := descendants(root):
        for number in signal.SIGSTOP, signal.SIGKILL:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)


def end_orphans():
    """Ends what a command left running; the command itself has ended."""
    end_descendants(os.getpid())
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0):
            pass


def run_watched(command, most_processes=MOST_PROCESSES, most_looks=MOST_LOOKS, seconds=None, **options):
    """Exit status of a command. What it started is ended when it stays too many, or takes too long."""
    end = time.monotonic() + (seconds or float("inf"))
    looks = 0  # one after the other that found too many: a test may make many for a moment
    with subprocess.Popen(command, **options) as process:
        while True:
            try:
                code = process.wait(timeout=LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                looks = looks + 1 if len(descendants(process.pid)) > most_processes else 0
                if looks > most_looks or time.monotonic() > end:
                    end_descendants(process.pid)
    end_orphans()
    return code


def limit_child():
    """A mutation that eats memory is ended before anything else, one that writes for ever fails."""
    pathlib.Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, resource.RLIM_INFINITY))  # tests raise it


def chunks_of(costs):
    """Lists of the names in these pairs of names and seconds, each for about as long as one look may take."""
    chunks, seconds = [], 0.0
    for name, cost in costs:
        seconds += cost
        if not chunks or seconds > CHUNK_SECONDS:
            chunks.append([])
            seconds = cost
        chunks[-1].append(name)
    return chunks


class Suite:
    """A work tree of one commit with its build, in which one source at a time is mutated."""

    def __init__(self, root, scratch, commit, jobs):
        self.scratch, self.jobs = scratch, jobs
        self.tree, self.temporary = (scratch / "tree").resolve(), scratch / "tmp"
        become_reaper()
        self.passes_clean = {}  # what tests do without a mutation
        commit = subprocess.run(["git", "-C", root, "rev-parse", commit + "^{commit}"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        if not self.tree.exists():
            self.call(["git", "-C", root, "worktree", "add", "--detach", self.tree, commit], "git", True)
        self.call(["git", "-C", self.tree, "checkout", "--force", commit], "git", True)
        self.call(["cmake", "--preset", "dev"], "configure", True, cwd=self.tree)
        if not self.build([]):
            raise SystemExit(f"the tree does not build without a mutation: see {scratch}/build.log")

    def call(self, command, log, must_succeed=False, **options):
        """Runs a command with its output in the scratch folder; returns whether it succeeded."""
        path = self.scratch / f"{log}.log"
        self.scratch.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            code = run_watched([str(word) for word in command], stdout=file, stdin=subprocess.DEVNULL,
                               stderr=subprocess.STDOUT, preexec_fn=limit_child, **options)
        if must_succeed and code:
            raise SystemExit(f"{command[0]} failed: see {path}")
        return code == 0

    def build(self, targets):
        """No targets: everything."""
        chosen = ["--target", *targets] if targets else []
        return self.call(["cmake", "--build", "--preset", "dev", f"-j{self.jobs}", *chosen], "build",
                         cwd=self.tree)

    def run_tests(self, names, seconds):
        """Runs these until one fails; returns those that failed, and all that ran."""
        failures = self.tree / "build/dev/Testing/Temporary/LastTestsFailed.log"
        failures.unlink(missing_ok=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(parents=True)
        chosen = "^(" + "|".join(re.escape(name) for name in names) + ")$"
        self.call(["ctest", "--preset", "dev", f"-j{self.jobs}", "--stop-on-failure", "--timeout", int(seconds), "-R",
                   chosen], "test", cwd=self.tree, seconds=2 * MOST_SECONDS,
                  env={**os.environ, "TMPDIR": str(self.temporary)})
        said = (self.scratch / "test.log").read_text(encoding="utf-8", errors="replace")
        ran = set(re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) \.", said, re.MULTILINE))
        if not failures.exists():
            return [], ran
        return [line.split(":", 1)[1] for line in failures.read_text(encoding="utf-8").splitlines()], ran

    # ---- Which tests ----

    @functools.cached_property
    def tests(self):
        """name: (program relative to the build, or None for a script; labels)"""
        text = subprocess.run(["ctest", "--preset", "dev", "--show-only=json-v1"], cwd=self.tree, check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        found = {}
        for test in json.loads(text)["tests"]:
            program, build = pathlib.Path(test.get("command", [""])[0]), self.tree / "build/dev"
            labels = [label for fact in test["properties"] if fact["name"] == "LABELS" for label in fact["value"]]
            found[test["name"]] = (str(program.relative_to(build)) if program.is_relative_to(build) else None, labels)
        return found

    @functools.cached_property
    def costs(self):
        """Seconds of each test that ran before."""
        path = self.tree / "build/dev/Testing/Temporary/CTestCostData.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return {line.split(" ")[0]: float(line.split(" ")[2]) for line in lines if line.count(" ") == 2}

    @functools.cached_property
    def products(self):
        """Programs and what they load: tests may run any of them, and none may keep another mutation."""
        build = self.tree / "build/dev"
        return [str(path.relative_to(build)) for path in [*(build / "bin").iterdir(), *(build / "lib").glob("*.so")]]

    @functools.cache
    def inputs_of(self, program):
        """All that a program is built from, and what has to be built before it."""
        text = subprocess.run(["ninja", "-t", "inputs", program], cwd=self.tree / "build/dev", check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        return frozenset(text.splitlines())

    def rank(self, name, path, function):
        """(stage, likelihood, cost): small ones first. None: the test has nothing to do with this source."""
        program, labels = self.tests[name]
        if program and str(self.tree / path) not in self.inputs_of(program):
            return None
        likely = len(words_of(name) & words_of(str(path)))
        if name == f"test_{path.stem}":
            likely += 4
        for text in self.sources_of(name):
            likely += 2 * (re.search(rf"\b{function}\b", text) is not None) + (f"/{path.stem}.h" in text)
        is_quick = program and "unit" in labels
        stage = LIKELY if is_quick and likely else UNIT if is_quick else SLOW
        return stage, -likely, self.costs.get(name, 1.0)

    @functools.cache
    def sources_of(self, name):
        return [path.read_text(encoding="utf-8") for path in (self.tree / "tests").rglob(f"{name}.c")]

    def chunks_for(self, path, function, stage):
        """The tests of a stage, in the order in which they are tried."""
        ranked = sorted((rank, name) for name in self.tests if (rank := self.rank(name, path, function)))
        return chunks_of([(name, cost) for (its_stage, _, cost), name in ranked if its_stage == stage])

    # ---- One mutation ----

    def result_of(self, path, mutated, function, stage):
        """What the tests of a stage say when this source has another text; None: nothing."""
        self.source, self.original, self.changed = path, path.read_text(encoding="utf-8"), mutated
        try:
            self.put(mutated)
            if not self.build([f"{path}^"]):
                return "does not compile"
            for names in self.chunks_for(path.relative_to(self.tree), function, stage):
                if noticed := self.first_noticed(names, stage):
                    return f"noticed by {noticed}"
            return None
        finally:
            self.put(self.original)

    def put(self, text):
        """Gives the source this text, and forgets the kernels that the program compiled before."""
        self.source.write_text(text, encoding="utf-8")
        shutil.rmtree(self.tree / "build/cache", ignore_errors=True)

    def build_for(self, names, stage):
        programs = [self.tests[name][0] for name in names if self.tests[name][0]]
        return self.build([*self.products, *programs] if stage < SLOW else [])

    def first_noticed(self, names, stage):
        """The first of these tests that fails because of the mutation, or None."""
        seconds = min(max(LEAST_SECONDS, *(10 * self.costs.get(name, 1.0) for name in names)), MOST_SECONDS)
        while names:
            if not self.build_for(names, stage):
                return "the build"
            failed, ran = self.run_tests(names, seconds)
            for name in failed:
                if self.run_tests([name], seconds)[0] and self.passes_without(name, stage):
                    return name
                print(f"  {name} failed, but not again or not only with the mutation", flush=True)
            names = [name for name in names if name not in ran and name not in failed] if failed else []
        return None

    def passes_without(self, name, stage):
        """Whether a test passes without the mutation, which is there again afterwards."""
        if name not in self.passes_clean:
            self.put(self.original)
            self.passes_clean[name] = self.build_for([name], stage) and not self.run_tests([name], MOST_SECONDS)[0]
            self.put(self.changed)
        return self.passes_clean[name]
