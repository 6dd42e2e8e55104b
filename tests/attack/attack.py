#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks the programs of a build from outside and prints a table of what came of it.

    tests/attack/attack.py --build=build/dev --seconds=7200 [--seed=N] [--kinds=files,programs]
                           [--steps=N] [--keep=FOLDER]

Kinds: files (damaged traces against every verb), programs (random programs without races, captured
and replayed, with right and wrong kernels), kills (of programs and captures), hostile (kernels that
try to get out of the sandbox). The seed, which is printed,
decides the steps of each kind. What goes wrong is told, five times per sort; with --keep its files are kept.

It knows the programs by their manuals and the files by docs/format.md, and shares no code with
them. Exit status: 0 nothing went wrong, 1 something did, 2 wrong usage."""
import argparse
import platform
import random
import sys
import time

import common
import files
import hostile
import kills
import programs

KINDS = {"files": files, "programs": programs, "kills": kills, "hostile": hostile}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", required=True, help="the build's folder, with bin/ and lib/")
    options.add_argument("--seconds", type=float, default=60, help="how long, all kinds together")
    options.add_argument("--steps", type=int, default=1 << 60, help="of each kind, at most")
    options.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--keep", metavar="FOLDER", help="where to keep files that something went wrong with")
    chosen = options.parse_args()
    unknown = [kind for kind in chosen.kinds.split(",") if kind not in KINDS]
    if unknown:
        options.error(f"no kind '{unknown[0]}'; there are {', '.join(KINDS)}")
    kinds = [kind for kind in chosen.kinds.split(",") if kind != "hostile" or platform.machine() == "x86_64"]
    print(f"seed {chosen.seed}", flush=True)
    seeds = {kind: random.Random(f"{chosen.seed} {kind}") for kind in kinds}
    attack = common.Attack(chosen.build, chosen.keep)
    states = {kind: [] for kind in kinds}
    left = dict.fromkeys(kinds, chosen.steps)
    spent = dict.fromkeys(kinds, 0.0)
    end = time.monotonic() + chosen.seconds
    try:
        while time.monotonic() < end and any(left.values()):
            kind = min((kind for kind in kinds if left[kind]), key=spent.get)  # all get the same time
            left[kind] -= 1
            begin = time.monotonic()
            KINDS[kind].step(attack, random.Random(seeds[kind].getrandbits(64)), states[kind])
            spent[kind] += time.monotonic() - begin
    except KeyboardInterrupt:
        pass
    finally:
        attack.close()
        attack.print_table()
    return 0 if attack.is_clean() else 1


if __name__ == "__main__":
    sys.exit(main())
