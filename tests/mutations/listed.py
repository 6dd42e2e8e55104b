# SPDX-License-Identifier: Apache-2.0
"""The list of mutations: how it is written, and where in a tree each of its lines is today."""
import dataclasses
import pathlib
import re

import source


class NotFound(Exception):
    """The list must be edited by hand: the line, its function or its file has another name."""


@dataclasses.dataclass
class Mutation:
    id: str  # "<folder>-<number>": the folder is where it is searched
    file: str  # without the path
    function: str
    occurrence: int  # of the line within the function, from 1
    operator: str
    old: str
    new: str
    before: str

    def text(self):
        return (f"{self.id}: {self.file}, {self.function}, {self.occurrence}: {self.operator}\n"
                f"- {self.old}\n+ {self.new}\n= {self.before}\n")

    def was_noticed(self):
        return is_noticed(self.before)

    def is_gone(self):
        return self.before.startswith("gone")


def is_noticed(result):
    return result.startswith("noticed")


ENTRY = re.compile(r"^(\w+-\d+): (\S+), (\w+), (\d+): (.*)\n- (.*)\n\+ (.*)\n= (.*)\n", re.MULTILINE)


def load(path):
    """(what stands before the first entry, the entries)"""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    entries = [Mutation(hit[1], hit[2], hit[3], int(hit[4]), *hit.groups()[4:]) for hit in ENTRY.finditer(text)]
    if len(entries) != len(re.findall(r"^= ", text, re.MULTILINE)):
        raise SystemExit(f"{path}: an entry is not of the form that the header gives")
    first = ENTRY.search(text)
    return (text[: first.start()] if first else text), entries


def save(path, header, entries):
    pathlib.Path(path).write_text(header + "\n".join(entry.text() for entry in entries), encoding="utf-8")


def places_in(path, mutation):
    """Numbers of the lines of this file that the mutation may mean: in order, one function after the other."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    return [[number for number in range(first, last + 1) if source.squeezed(lines[number]) == mutation.old]
            for name, first, last in source.functions(text) if name == mutation.function]


def find(tree, mutation):
    """(path, line number from 0). A function that moved into another file is found if it is the only one."""
    files = sorted((pathlib.Path(tree) / mutation.id.split("-")[0]).rglob("*.c"))
    for candidates in [path for path in files if path.name == mutation.file], files:
        found = [(path, numbers[mutation.occurrence - 1]) for path in candidates
                 for numbers in places_in(path, mutation) if len(numbers) >= mutation.occurrence]
        if len(found) == 1:
            return found[0]
    where = f"{len(found)} places fit" if found else "no place fits"
    raise NotFound(f"{mutation.id}: {where} line {mutation.occurrence} '{mutation.old}' of {mutation.function}")


def mutated(text, number, mutation):
    """The text with the line replaced; it keeps its indentation."""
    lines = text.split("\n")
    indentation = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    lines[number] = indentation + mutation.new
    return "\n".join(lines)
