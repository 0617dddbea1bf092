"""The protobuf wire format, as far as ONNX files need it: no onnx package, and weights are not copied.

A message under construction is a list of pieces: bytes, or a Slice of a file that is copied when written.
"""

import mmap
import os
from dataclasses import dataclass

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
COPY_BYTES = 1 << 22


@dataclass
class Slice:
    """`length` bytes from `start` of `data`, a mapped file or bytes."""

    data: object
    start: int
    length: int

    def __len__(self):
        return self.length

    def bytes(self):
        return bytes(self.data[self.start:self.start + self.length])


@dataclass
class Field:
    number: int
    wire: int
    value: int  # of a varint
    whole: Slice  # tag and all
    body: Slice  # what is inside, of wire type BYTES


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(message):
    """The fields of a message, in the order of the file. Only tags and lengths are read."""
    data, at, end = message.data, message.start, message.start + message.length
    while at < end:
        begin = at
        tag, at = _varint(data, at)
        number, wire, value, body = tag >> 3, tag & 7, 0, None
        if wire == VARINT:
            value, at = _varint(data, at)
        elif wire == BYTES:
            length, at = _varint(data, at)
            body = Slice(data, at, length)
            at += length
        elif wire in (FIXED64, FIXED32):
            at += 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"not an ONNX file: wire type {wire} at byte {begin}")
        if at > end:
            raise ValueError(f"the ONNX file is cut short at byte {begin}")
        yield Field(number, wire, value, Slice(data, begin, at - begin), body)


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return [varint(field << 3 | VARINT) + varint(value)]


def message(field, pieces):
    """A field holding bytes, text or a message made of pieces."""
    pieces = [pieces.encode()] if isinstance(pieces, str) else pieces
    return [varint(field << 3 | BYTES) + varint(sum(len(p) for p in pieces))] + list(pieces)


def open_slice(path):
    """A whole file, mapped rather than read."""
    size = os.path.getsize(path)
    if not size:
        return Slice(b"", 0, 0)
    with open(path, "rb") as file:
        return Slice(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), 0, size)


def write(file, pieces):
    """Writes pieces, large ones a few MiB at a time; returns how many bytes."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if isinstance(piece, Slice):
            for at in range(piece.start, piece.start + piece.length, COPY_BYTES):
                file.write(piece.data[at:min(at + COPY_BYTES, piece.start + piece.length)])
        else:
            file.write(piece)
    return total
