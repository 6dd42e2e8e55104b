# SPDX-License-Identifier: Apache-2.0
"""Kernels of a stranger's trace that do what no kernel may, by several methods, replayed with default
options: files, processes, limits, the network and the verdict are as they were."""
import os
import re
import shutil
import socket
import subprocess
import time

import frames
import kills

KIND = "hostile kernels"
LIMIT = 2  # seconds that nothing moves
MOST_PROCESSES = 12  # of a replay, compilers and all

# How a kernel comes to a system call: all define `long call(long n, long a, long b, long c, long d)`.
METHODS = {
    "asm": """static long call(long n, long a, long b, long c, long d) { long r; __asm__ __volatile__(
"movq %5, %%r10; xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(d)
: "rcx", "r8", "r9", "r10", "r11", "memory"); return r; }""",
    "weakref": """static long w(long, ...) __attribute__((weakref("syscall")));
static long call(long n, long a, long b, long c, long d) { return w(n, a, b, c, d, 0L); }""",
    "label": """extern "C" long l(long, ...) __asm("syscall");
static long call(long n, long a, long b, long c, long d) { return l(n, a, b, c, d, 0L); }""",
    "bytes": """__attribute__((section(".text.z"))) static const unsigned char z[] = {0x48, 0x89, 0xf8, 0x48, 0x89,
0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2, 0x45, 0x31, 0xc0, 0x45, 0x31, 0xc9, 0x0f, 0x05, 0xc3};
static long call(long n, long a, long b, long c, long d) {
return ((long (*)(long, long, long, long, long))(unsigned long)&z[0])(n, a, b, c, d); }""",
}

# What it does then, with the numbers of x86-64. FILE, FOLDER, SLEEPER and PORT are put in.
DEEDS = {
    "chmod": 'call(90, (long)"FILE", 0777, 0, 0);',
    "utimensat": 'call(280, -100, (long)"FILE", 0, 0);',
    "write": 'long f = call(2, (long)"FILE", 1, 0, 0); call(1, f, (long)"owned", 5, 0);',
    "truncate": 'call(76, (long)"FILE", 0, 0, 0);',
    "unlink": 'call(87, (long)"FILE", 0, 0, 0);',
    "rename": 'call(82, (long)"FILE", (long)"FILE.moved", 0, 0);',
    "create": 'call(85, (long)"FOLDER/made", 0644, 0, 0);',
    "symlink": 'call(88, (long)"/etc/passwd", (long)"FOLDER/made", 0, 0);',
    "xattr": 'call(188, (long)"FILE", (long)"user.x", (long)"y", 1);',
    "affinity": "unsigned long m = 1; call(203, SLEEPER, 8, (long)&m, 0);",
    "prlimit": "unsigned long l[2] = {16, 16}; call(302, SLEEPER, 7, (long)l, 0);",
    "priority": "call(141, 0, SLEEPER, 19, 0);",
    "kill": "call(62, SLEEPER, 9, 0, 0);",
    "forks": "for (int k = 0; k < 40; k++) if (call(57, 0, 0, 0, 0) == 0) { long t[2] = {100, 0}; call(112, 0, 0, 0, 0);"
             " call(35, (long)t, 0, 0, 0); call(231, 0, 0, 0, 0); }",
    "network": "long s = call(41, 2, 1, 0, 0); unsigned char a[16] = {2, 0, PORT >> 8, PORT & 255, 127, 0, 0, 1};"
               " call(42, s, (long)a, 16, 0);",
    "exec": 'const char *v[] = {"/bin/chmod", "777", "FILE", 0}; call(59, (long)v[0], (long)v, 0, 0);',
    "forge": 'static const char m[] = "same: 1 read-back compared (128 bytes), 0 different\\n"; call(1, 1, (long)m,'
             " sizeof m - 1, 0); call(231, 0, 0, 0, 0);",
    "forge json": 'static const char m[] = "{\\"result\\":\\"same\\"}\\n"; for (int f = 1; f < 64; f++) call(1, f, (long)m,'
                  " sizeof m - 1, 0); call(231, 0, 0, 0, 0);",
    "loop": "volatile int x = 1; while (x) {}",
    "memory": "for (long k = 0; k < 3072; k++) { long p = call(9, 0, 1 << 20, 3, 0x22); if (p > 0) for (int i = 0;"
              " i < 1 << 20; i += 4096) ((volatile char *)p)[i] = 1; }",
}
PLACES = ("kernel", "constructor", "init_array")
OPTIONS = ([], [], ["--json"], ["--dump=data@#s0={out}"], ["--record={out}"], ["--bisect"])


def source(method, deed, place, values):
    body = DEEDS[deed]
    for name, value in values.items():
        body = body.replace(name, str(value))
    early = {"constructor": "__attribute__((constructor)) static void early() { deed(); }",
             "init_array": '__attribute__((section(".init_array"), used)) static void (*const early)() = deed;'}
    return ("#include <metal_stdlib>\nusing namespace metal;\n" + METHODS[method]
            + "\nstatic void deed() { " + body + " }\n" + early.get(place, "")
            + "\nkernel void probe(device uint *a [[buffer(0)]], uint i [[thread_position_in_grid]]) { "
            + ("if (i == 0) deed(); " if place == "kernel" else "") + "a[i] = i + 2; }\n").encode()


def prepare(attack):
    """The trace whose kernel is exchanged, and those who must not be touched."""
    path = attack.path("probe.pb.zst")
    attack.run([attack.tool("hal-capture"), "-q", "-f", "-o", path, "--", attack.program, "probe"], limit=60)
    with open(path, "rb") as file:
        data = file.read()
    for part in frames.split(data):
        if frames.kind_of(part) == frames.CONTENTS:
            text = frames.open_ours(part)[1]
            at = text.find(b"#include <metal_stdlib>")
            if at >= 0:
                return [data, text[at : at + 8192]]
    raise RuntimeError("the kernel is not in the trace")


def picture(folder, sleeper):
    """All that must not change."""
    files = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        known = os.lstat(path)
        with open(path, "rb") as file:
            files.append((name, known.st_mode, known.st_mtime_ns, known.st_size, file.read(), os.listxattr(path)))
    with open(f"/proc/{sleeper.pid}/limits", encoding="ascii") as file:
        limits = file.read()
    return [files, sleeper.poll(), os.sched_getaffinity(sleeper.pid), limits,
            os.getpriority(os.PRIO_PROCESS, sleeper.pid)]


def processes_with(text, before):
    """Those that are not from before, and whose environment has the text."""
    found = []
    for pid in set(filter(str.isdigit, os.listdir("/proc"))) - before:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if text in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def step(attack, random, state):
    if not state:
        state += prepare(attack)
    data, probe = state
    method, deed, place = random.choice(list(METHODS)), random.choice(list(DEEDS)), random.choice(PLACES)
    folder, path, out = attack.path("canaries"), attack.path("hostile.pb.zst"), attack.path("out.bin")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    canary = os.path.join(folder, "canary")
    with open(canary, "wb") as file:
        file.write(b"as it was\n")
    os.chmod(canary, 0o640)
    mark = f"ATTACK_MARK={os.getpid()}.{random.randrange(1 << 60)}"
    with socket.create_server(("127.0.0.1", 0)) as server, \
            subprocess.Popen(["sleep", "300"], start_new_session=True) as sleeper:
        server.setblocking(False)
        text = source(method, deed, place, {"FILE": canary, "FOLDER": folder, "SLEEPER": sleeper.pid,
                                          "PORT": server.getsockname()[1]})
        with open(path, "wb") as file:
            file.write(frames.replace_content(data, probe, text + b"/" * 2 + b" " * (len(probe) - len(text) - 2)))
        options = [option.format(out=out) for option in random.choice(OPTIONS)]
        command = [attack.tool("hal-replay"), f"--timeout={LIMIT}", "--memory-limit=256M", *options, path]
        name, value = mark.split("=")
        before, known = picture(folder, sleeper), set(os.listdir("/proc"))
        process, most = attack.start(command, **{name: value}), 0
        while kills.is_alive(process.pid) and time.monotonic() < process.begin + 5 * LIMIT:
            most = max(most, len(processes_with(mark.encode(), known)))
            time.sleep(0.1)
        result = attack.finish(process, limit=1)
        check(attack, f"{deed} by {method} in {place} {' '.join(options)}", result, command, path,
              before != picture(folder, sleeper), processes_with(mark.encode(), known), most, was_reached(server))
        sleeper.kill()
    for name in (out, out + ".pb.zst"):
        if os.path.exists(name):
            os.unlink(name)


def was_reached(server):
    try:
        server.accept()[0].close()
        return True
    except BlockingIOError:
        return False


def check(attack, what, result, command, path, is_changed, left, most, is_reached):
    attack.judge(KIND, result, command, (1, 2, 3, 4, 5) if not made_something(command) else range(6), path)
    if is_changed:
        attack.count(KIND, "wrong", f"{what}: something changed", path)
    if left:
        attack.count(KIND, "wrong", f"{what}: {len(left)} processes are left", path)
        for pid in left:
            os.kill(pid, 9)
    if most > MOST_PROCESSES:
        attack.count(KIND, "wrong", f"{what}: {most} processes at once", path)
    if is_reached:
        attack.count(KIND, "wrong", f"{what}: it reached the network", path)
    if re.search(rb'^same: |"result": ?"same"', result.out, re.MULTILINE) and result.status == 0:
        attack.count(KIND, "wrong", f"{what}: the verdict is forged", path)
    if what.startswith("loop") and result.seconds > 2 * LIMIT + 2:
        attack.count(KIND, "hangs", f"{what}: {result.seconds:.1f} s under a limit of {LIMIT} s", path)


def made_something(command):
    """With these the exit status 0 says that a file was made, and is no verdict."""
    return any(option.startswith(("--dump", "--record")) for option in command)
