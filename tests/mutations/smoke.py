#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mutation is found again after its lines moved, its file moved, and its function changed files; what
could mean two places is refused; a source gives the mutants that one expects by hand; and a mutation
that makes processes without end is stopped."""
import os
import pathlib
import tempfile
import time
import unittest

import listed
import source
import suite

SAMPLE = '''/* a < b */
static int first(int a)
{
    if (a < 1 && b != 0)
        return 1;
    call(a);
    return a + 2;
}

int sample_second(const struct thing *thing,
                  int (*visit)(int, int))
{
    call(a); /* call(a); */
    puts("a < b");
    call(a);
    return 0;
}
'''
LIST = '''# A header.

hal-1: sample.c, sample_second, 1: statement removed
- call(a);
+ (void)0;
= noticed by test_sample

hal-2: sample.c, first, 1: comparison
- if (a < 1 && b != 0)
+ if (a <= 1 && b != 0)
= not noticed
'''


class Smoke(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        self.list = self.tree / "list.txt"
        self.list.write_text(LIST, encoding="utf-8")
        self.second, self.first = listed.load(self.list)[1]
        self.write("hal/sample.c", SAMPLE)

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def place(self, mutation):
        path, number = listed.find(self.tree, mutation)
        return str(path.relative_to(self.tree)), number + 1

    def test_list_is_written_as_it_was_read(self):
        listed.save(self.list, *listed.load(self.list))
        self.assertEqual(self.list.read_text(encoding="utf-8"), LIST)
        self.assertEqual([m.was_noticed() for m in (self.second, self.first)], [True, False])

    def test_entry_of_another_form_is_refused(self):
        self.list.write_text(LIST.replace("first, 1", "first"), encoding="utf-8")
        self.assertRaises(SystemExit, listed.load, self.list)

    def test_functions_and_their_lines(self):
        self.assertEqual(source.functions(SAMPLE), [("first", 3, 6), ("sample_second", 12, 15)])

    def test_one_line_is_mutated(self):
        mutated = listed.mutated(SAMPLE, listed.find(self.tree, self.first)[1], self.first)
        self.assertEqual(mutated, SAMPLE.replace("    if (a < 1", "    if (a <= 1"))

    def test_line_moves(self):
        self.assertEqual(self.place(self.second), ("hal/sample.c", 15))  # line 13 has a comment, line 6 is another's
        self.write("hal/sample.c", "/* More\n * lines. */\nstatic int zero;\n\n" + SAMPLE.replace("    ", "\t"))
        self.assertEqual(self.place(self.second), ("hal/sample.c", 19))
        self.assertEqual(self.place(self.first), ("hal/sample.c", 8))

    def test_file_moves(self):
        (self.tree / "hal/core").mkdir()
        (self.tree / "hal/sample.c").rename(self.tree / "hal/core/sample.c")
        self.write("hal/other.c", "int other(void)\n{\n    call(a);\n}\n")
        self.assertEqual(self.place(self.second), ("hal/core/sample.c", 15))

    def test_function_moves_into_another_file(self):
        begin = SAMPLE.index("int sample_second")
        self.write("hal/sample.c", SAMPLE[:begin])
        self.write("hal/check/rest.c", SAMPLE[begin:])
        self.assertEqual(self.place(self.second), ("hal/check/rest.c", 6))

    def test_two_places_are_refused(self):
        self.write("hal/core/sample.c", SAMPLE)
        self.assertRaises(listed.NotFound, listed.find, self.tree, self.second)

    def test_gone_is_refused(self):
        self.write("hal/sample.c", SAMPLE.replace("a < 1", "number < 1"))
        self.assertRaises(listed.NotFound, listed.find, self.tree, self.first)

    def test_mutants_of_a_line(self):
        def mutants(line, before="{"):
            return [new.strip() for _, new in source.mutants_of(line, source.mask(line), before)]

        self.assertEqual(mutants("    if (a < 1 && b)"), [
            "if (a <= 1 && b)", "if (a >= 1 && b)", "if (a < 1 || b)", "if (a < 2 && b)", "if (!(a < 1 && b))"])
        self.assertEqual(mutants("    call(a, b); /* + 1 */"), ["call(b, a); /* + 1 */"])
        self.assertEqual(mutants("    call(a);"), ["(void)0;"])
        self.assertEqual(mutants("    call(a);", "    if (a &&"), [])
        self.assertEqual(mutants("    break;"), ["(void)0;"])
        self.assertEqual(mutants("    return false;"), ["return true;"])
        for line in '    puts("1 < 2");', "    /* 1 < 2 */", "#define A 1", "    assert(a < 1);", "    char name[12];":
            self.assertEqual([new for new in mutants(line) if new != "(void)0;"], [], line)

    def test_tests_are_run_in_chunks(self):
        self.assertEqual(suite.chunks_of([]), [])
        costs = [("a", 0.0), ("b", 30.0), ("c", 1.0), ("d", 50.0)]
        self.assertEqual(suite.chunks_of(costs), [["a", "b"], ["c"], ["d"]])

    def test_too_many_processes_are_ended(self):
        suite.become_reaper()
        bomb = "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 50 & exec sleep 50) & done; wait; exit 3"
        begin = time.monotonic()
        self.assertEqual(suite.run_watched(["sh", "-c", f"({bomb}); exit 4"], most_processes=10, most_looks=1), 4)
        self.assertLess(time.monotonic() - begin, 40)
        self.assertEqual(suite.descendants(os.getpid()), [])


if __name__ == "__main__":
    unittest.main()
