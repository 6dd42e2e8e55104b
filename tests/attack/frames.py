# SPDX-License-Identifier: Apache-2.0
"""Takes traces apart and puts them together again, as docs/format.md says: frames, their checksums,
and protobuf messages without a schema. Uses libzstd and libxxhash, nothing of the project."""
import ctypes
import ctypes.util
import hashlib
import struct

_zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
_xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash"))
_zstd.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
_zstd.ZSTD_decompressBound.restype = ctypes.c_uint64
_zstd.ZSTD_decompress.restype = ctypes.c_size_t
_zstd.ZSTD_compress.restype = ctypes.c_size_t
_zstd.ZSTD_compressBound.restype = ctypes.c_size_t
_xxhash.XXH3_64bits.restype = ctypes.c_uint64
_xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64

OURS, SEEK = 0x184D2A57, 0x184D2A5E
NOTE, CONTENTS, INDEX = 1, 2, 3


def decompress(data):
    room = _zstd.ZSTD_decompressBound(data, ctypes.c_size_t(len(data)))
    if room > 1 << 28:
        raise ValueError("not a zstd frame")
    out = ctypes.create_string_buffer(room)
    size = _zstd.ZSTD_decompress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)))
    return out.raw[:size]


def compress(data):
    room = _zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = _zstd.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


def xxh3(data, seed=0):
    return _xxhash.XXH3_64bits_withSeed(data, ctypes.c_size_t(len(data)), ctypes.c_uint64(seed))


# ---- Frames -------------------------------------------------------------------------------------


def split(data):
    """The frames of a whole file, as bytes."""
    frames, at = [], 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic & 0xFFFFFFF0 == 0x184D2A50:
            size = 8 + struct.unpack_from("<I", data, at + 4)[0]
        else:
            rest = data[at:]
            size = _zstd.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))
        frames.append(data[at : at + size])
        at += size
    return frames


def kind_of(frame):
    """NOTE, CONTENTS, INDEX, SEEK, or 0: a data frame."""
    (magic,) = struct.unpack_from("<I", frame)
    return frame[8] if magic == OURS else SEEK if magic == SEEK else 0


def open_ours(frame):
    """Meta and data of one of our skippable frames."""
    _, _, _, packed, _, meta_bytes = struct.unpack_from("<IIBBHI", frame)
    data = frame[40 + meta_bytes :]
    return frame[40 : 40 + meta_bytes], decompress(data) if packed else data


def make_ours(kind, meta, data):
    """The frame, with checksums that are right."""
    stored = compress(data) if data else b""
    head = struct.pack("<IIBBHIIIQ", OURS, 32 + len(meta) + len(stored), kind, bool(data), 0, len(meta),
                       len(data), 0, xxh3(stored))
    return head + struct.pack("<Q", xxh3(meta, xxh3(head))) + meta + stored


def join(frames):
    """One file: notes, index and seek table, where there are any, fit the frames before them."""
    out, at, last, sizes, notes, blobs = [], 0, None, [], [], []
    for frame in frames:
        kind = kind_of(frame)
        if kind == NOTE and last is not None:
            frame = renote(frame, *last)
        if kind == NOTE:
            notes.append((open_ours(frame)[0], len(frame)))
        elif kind == CONTENTS:
            blobs.append((open_ours(frame)[0], at, len(frame)))
        elif kind == INDEX:
            frame = make_ours(INDEX, b"", build_index(notes, blobs))
        elif kind == SEEK:
            table = b"".join(struct.pack("<II", *pair) for pair in sizes)
            table += struct.pack("<IBI", len(sizes), 0, 0x8F92EAB1)
            frame = struct.pack("<II", SEEK, len(table)) + table
        last = (at, frame) if kind == 0 else None
        sizes.append((len(frame), len(decompress(frame)) if kind == 0 else 0))
        out.append(frame)
        at += len(frame)
    return b"".join(out)


def build_index(notes, blobs):
    columns = [(1, [n[0] for n in notes]), (2, [n[1] for n in notes]), (3, [b[0] for b in blobs]),
               (4, [b[1] for b in blobs]), (5, [b[2] for b in blobs])]
    fields = []
    for number, values in columns:
        if number in (1, 3):
            fields += [(number, 2, value) for value in values]
        elif values:
            fields.append((number, 2, b"".join(varint(value) for value in values)))
    return build(fields)


def renote(note, offset, data_frame):
    right = {2: offset, 3: len(data_frame), 4: len(decompress(data_frame)),
             5: struct.pack("<Q", xxh3(data_frame))}
    meta = open_ours(note)[0]
    fields = [f for f in parse(meta) or [] if f[0] not in right]
    fields += [(number, 1 if number == 5 else 0, value) for number, value in right.items() if value]
    return make_ours(NOTE, build(sorted(fields, key=lambda f: f[0])), b"")


def replace_content(data, old, new):
    """The file with `new` for the content `old`, of the same length: digest and checksums fit."""
    before, after = hashlib.sha256(old).digest(), hashlib.sha256(new).digest()
    frames, found = split(data), False
    for i, frame in enumerate(frames):
        if kind_of(frame) == CONTENTS:
            meta, inner = open_ours(frame)
            found |= old in inner
            frames[i] = make_ours(CONTENTS, meta.replace(before, after), inner.replace(old, new))
    if not found:
        raise ValueError("the content is not in the trace")
    return join(frames)


# ---- Protobuf -----------------------------------------------------------------------------------


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data):
    """A list of (number, wire type, value), or None: it is no message."""
    fields, at = [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise ValueError
            value |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                return value

    try:
        while at < len(data):
            key = number()
            wire = key & 7
            if wire == 0:
                value = number()
            elif wire in (1, 2, 5):
                size = 8 if wire == 1 else 4 if wire == 5 else number()
                value = data[at : at + size]
                at += size
                if at > len(data):
                    return None
            else:
                return None
            if key >> 3 == 0:
                return None
            fields.append((key >> 3, wire, value))
    except ValueError:
        return None
    return fields


def build(fields):
    out = bytearray()
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 2:
            out += varint(len(value))
        out += varint(value) if wire == 0 else value
    return bytes(out)
