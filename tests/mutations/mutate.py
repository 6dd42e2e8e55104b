#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws random mutations of the sources, and finds out which of them the tests notice.

    tests/mutations/mutate.py draw --build=FOLDER [--seed=N] [--count=12] [--skip=hal-3,hal-7]
    tests/mutations/mutate.py find
    tests/mutations/mutate.py run --scratch=FOLDER [--commit=COMMIT] [--only=ID,...] [--record]

draw    prints a list of mutations that compile, --count of each folder, weighted by lines. A mutation
        that cannot be noticed (the program means the same) goes into --skip: another one takes its place.
find    checks that every mutation of the list has its place in this tree.
run     makes a work tree in the scratch folder, and runs the tests on each mutation until one fails:
        twice with the mutation, and not without it. Results are appended to results.txt in the scratch
        folder; an interrupted run goes on from there. It ends with a table. --record writes the results
        into the list, as those before.

The list is mutations.txt beside this script, which says how to edit it after names have changed. Exit
status: 0, or 1 if what was noticed before no longer is, or cannot be found; 2 wrong usage."""
import argparse
import json
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

import listed
import source
import suite

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIST = HERE / "mutations.txt"
NOT_RUN = "not yet run"
FOLDERS = ["hal", "format", "capture", "replay", "viewer"]


# ---- Drawing -------------------------------------------------------------------------------------


def compiles(command, text):
    """Whether the text compiles in place of the source file of this entry of compile_commands.json. Quick:
    that a static function is no longer called, only `run` finds out."""
    with tempfile.NamedTemporaryFile("w", suffix=".c", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        words = [file.name if word == command["file"] else word for word in shlex.split(command["command"])]
        return subprocess.run([*words, "-fsyntax-only"], cwd=command["directory"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0


def lines_of(commands, folder):
    """(path, function, first line, line) of each line in a function that the build compiles."""
    found = []
    for path in sorted(commands):
        if path.suffix == ".c" and path.is_relative_to(ROOT / folder):
            for name, first, last in source.functions(path.read_text(encoding="utf-8")):
                found += [(path, name, first, number) for number in range(first, last + 1)]
    return found


def draw_one(chance, commands, lines):
    """A mutation without its id, or None where the line that was drawn allows none."""
    path, function, first, number = chance.choice(lines)
    text = path.read_text(encoding="utf-8")
    plain, masked = text.split("\n"), source.mask(text).split("\n")
    mutants = source.mutants_of(plain[number], masked[number], masked[number - 1])
    if not mutants:
        return None
    operator = chance.choice(sorted({operator for operator, _ in mutants}))
    new = chance.choice([new for name, new in mutants if name == operator])
    old = source.squeezed(plain[number])
    if not compiles(commands[path], "\n".join([*plain[:number], new, *plain[number + 1:]])):
        return None
    occurrence = sum(source.squeezed(line) == old for line in plain[first: number + 1])
    return listed.Mutation("", path.name, function, occurrence, operator, old, source.squeezed(new), NOT_RUN)


def draw(chosen):
    commands = json.loads((pathlib.Path(chosen.build) / "compile_commands.json").read_text(encoding="utf-8"))
    commands = {pathlib.Path(command["file"]): command for command in commands}
    print(f"# seed {chosen.seed}", flush=True)
    for folder in FOLDERS:
        chance = random.Random(f"{chosen.seed} {folder}")
        lines = lines_of(commands, folder)
        drawn, wanted = [], chosen.count
        while sum(mutation.id not in chosen.skip for mutation in drawn) < wanted:
            mutation = draw_one(chance, commands, lines)
            if mutation and mutation not in drawn:
                mutation.id = f"{folder}-{len(drawn) + 1}"
                drawn.append(mutation)
                if mutation.id not in chosen.skip:
                    print("\n" + mutation.text(), end="", flush=True)
    return 0


# ---- Finding and running -------------------------------------------------------------------------


def find(chosen):
    missing = 0
    for mutation in chosen.mutations:
        if mutation.is_gone():
            continue
        try:
            path, number = listed.find(ROOT, mutation)
            print(f"{mutation.id}: {path.relative_to(ROOT)}:{number + 1}")
        except listed.NotFound as problem:
            missing += 1
            print(problem)
    return 1 if missing else 0


def passed(stage):
    """The result of a mutation that no test has noticed up to this stage; -1: before the first."""
    if stage == suite.STAGES[-1]:
        return "not noticed"
    return NOT_RUN + "".join(f", {name}: passed" for name in suite.STAGE_NAMES[: stage + 1])


def try_mutation(runner, mutation, stage):
    """What the tests of this stage say of a mutation."""
    try:
        path, number = listed.find(runner.tree, mutation)
    except listed.NotFound as problem:
        return f"not found: {problem}"
    text = listed.mutated(path.read_text(encoding="utf-8"), number, mutation)
    return runner.result_of(path, text, mutation.function, stage) or passed(stage)


def read_results(path):
    if not path.exists():
        return {}
    return dict(line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines())


def print_table(mutations, results):
    """Returns how many are no longer noticed."""
    lost = 0
    for mutation in mutations:
        after = results.get(mutation.id, NOT_RUN)
        is_lost = mutation.was_noticed() and not after.startswith(NOT_RUN) and not listed.is_noticed(after)
        lost += is_lost
        print(f"{mutation.id:11} {mutation.before:45} -> {after}{'   LOST' if is_lost else ''}")
    ran = [result for result in results.values() if not result.startswith(NOT_RUN)]
    print(f"{len(mutations)} mutations, {len(ran)} ran, {sum(map(listed.is_noticed, ran))} of them are noticed, "
          f"{lost} no longer")
    return lost


def run(chosen):
    runner = suite.Suite(ROOT, pathlib.Path(chosen.scratch).resolve(), chosen.commit, chosen.jobs)
    kept = runner.scratch / "results.txt"
    results = read_results(kept)
    for stage in suite.STAGES:  # what is found soon is found first
        for mutation in chosen.mutations:
            if not mutation.is_gone() and results.get(mutation.id, NOT_RUN) == passed(stage - 1):
                begin = time.monotonic()
                results[mutation.id] = try_mutation(runner, mutation, stage)
                print(f"{mutation.id}: {results[mutation.id]} ({time.monotonic() - begin:.0f} s)", flush=True)
                with kept.open("a", encoding="utf-8") as file:
                    file.write(f"{mutation.id}\t{results[mutation.id]}\n")
    lost = print_table(chosen.mutations, {id: results[id] for id in results if id in chosen.ids})
    if chosen.record:
        header, mutations = listed.load(LIST)
        for mutation in mutations:
            mutation.before = results.get(mutation.id, mutation.before)
        listed.save(LIST, header, mutations)
    return 1 if lost else 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = options.add_subparsers(required=True)
    verb = verbs.add_parser("draw")
    verb.set_defaults(do=draw, only="")
    verb.add_argument("--build", required=True, help="a build of this tree, for its compile_commands.json")
    verb.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    verb.add_argument("--count", type=int, default=12, help="of each folder")
    verb.add_argument("--skip", type=lambda text: text.split(","), default=[], help="ids that were judged equivalent")
    verb = verbs.add_parser("find")
    verb.set_defaults(do=find, only="")
    verb = verbs.add_parser("run")
    verb.set_defaults(do=run)
    verb.add_argument("--scratch", required=True, help="where the work tree and the results are")
    verb.add_argument("--commit", default="HEAD", help="what is mutated")
    verb.add_argument("--only", default="", help="ids, or folders")
    verb.add_argument("--jobs", type=int, default=2)
    verb.add_argument("--record", action="store_true", help="write the results into the list")
    chosen = options.parse_args()
    if chosen.do is not draw:
        names = [name for name in chosen.only.split(",") if name]
        chosen.mutations = [mutation for mutation in listed.load(LIST)[1]
                            if not names or mutation.id in names or mutation.id.split("-")[0] in names]
        chosen.ids = {mutation.id for mutation in chosen.mutations}
    return chosen.do(chosen)


if __name__ == "__main__":
    sys.exit(main())
