/* SPDX-License-Identifier: Apache-2.0 */
/* What a source makes of the compiler that attacks it: in the place of clang, it tries to hold
 * memory in ways that nobody could count, and prints what came of them. Outside of a sandbox it is
 * clang, so that it is found to be one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static int result_of(long returned)
{
    return returned < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"clang-16", "clang-17", "clang-18", "clang-19",
                                        "clang-20", "clang-21", "clang"};
    enum { BYTES = 1 << 20 };
    int ends[2];
    (void)argc;
    for (size_t i = 0; prctl(PR_GET_SECCOMP) == 0 && i < sizeof names / sizeof *names; i++)
        execvp(names[i], argv);
    const int file = result_of(memfd_create("hostile", MFD_CLOEXEC));
    const int shared = result_of(
        (long)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const int pipes = pipe(ends) == 0 ? result_of(fcntl(ends[0], F_SETPIPE_SZ, BYTES)) : -1;
    fprintf(stderr, "memory file %d, shared memory %d, large pipe %d\n", file, shared, pipes);
    return 1;
}
