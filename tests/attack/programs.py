# SPDX-License-Identifier: Apache-2.0
"""Random programs without races, captured in every way and replayed: the verdict is "same", and
never "same" with a wrong kernel."""
import ctypes
import os
import platform
import struct

WAYS = ("page report", "no page report", "compare", "small", "import", "record", "outputs", "dispatch")
MEMORY = {"small": "small", "import": "import"}
USERFAULTFD = {"x86_64": 323, "aarch64": 282}.get(platform.machine(), 323)


def without_page_report():
    """In the process to be: userfaultfd says ENOSYS, as on systems that lack it."""
    code = b"".join(struct.pack("<HBBI", *i) for i in (
        (0x20, 0, 0, 0), (0x15, 0, 1, USERFAULTFD), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)))
    libc = ctypes.CDLL(None)
    kept = ctypes.create_string_buffer(code)

    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Program(4, ctypes.addressof(kept))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program)):
        os._exit(99)


def verdict(attack, kind, command, path):
    """The exit status of a replay, None: it went wrong otherwise."""
    result = attack.run(command, limit=60)
    return result.status if attack.judge(kind, result, command, (0, 1, 5), path) else None


def step(attack, random, state):
    way, seed = random.choice(WAYS), random.randrange(1 << 30)
    path, again = attack.path("random.pb.zst"), attack.path("again.pb.zst")
    options = {"outputs": ["--outputs=all"], "dispatch": ["-m", "dispatch"]}.get(way, [])
    environment = {"HAL_DEVICE_PROFILING_DIRTY": "compare"} if way == "compare" else {}
    memory = MEMORY.get(way, random.choice(("any", "large", "small", "import")))
    device = random.choice(("cpu", "cpu?threads=2&queues=3", "cpu?threads=4&queues=2"))
    command = [attack.tool("hal-capture"), "-q", "-f", *options, "-o", path, "--", attack.program, "random",
               str(seed), memory]
    right, wrong_kernel = f"random: {way}", f"wrong kernel: {way}"
    text = f"{way}: seed {seed}, {memory}, {device}"
    result = attack.run(command, limit=60, before=without_page_report if way == "no page report" else None,
                        HAL_DEVICE=device, **environment)
    if not attack.judge(right, result, command, (0,), path):
        return
    visible = result.out.decode().split("visible:")[-1].split()
    replay = [attack.tool("hal-replay"), "--quiet"]
    base = []
    if way == "record":
        status = verdict(attack, right, [*replay, f"--record={again}", path], path)
        path, base = again, [f"--base={path}"]
        if status is None or not os.path.exists(again):
            return
    for uri in ("cpu?threads=1", device):
        status = verdict(attack, right, [*replay, *base, f"--device={uri}", path], path)
        if status == 1:
            attack.count(right, "wrong", f"{text}: 'different' on {uri}", path)
        elif status == 5:
            attack.count(right, "incomparable")
    if not visible:
        return
    name = random.choice(visible)
    wrong = attack.path("wrong.metal")
    with open(wrong, "wb") as file:
        file.write(attack.run([attack.program, "wrong", name]).out)
    status = verdict(attack, wrong_kernel, [*replay, *base, f"--substitute={name}={wrong}", path], path)
    if status == 0:
        attack.count(wrong_kernel, "wrong", f"{text}: 'same' with a wrong '{name}'", path)
    elif status == 5:
        attack.count(wrong_kernel, "incomparable")
