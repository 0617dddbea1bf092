"""Arrays in safetensors files, with NumPy alone."""
import json
import pathlib
import struct

import numpy

TYPES = {"U8": numpy.uint8, "F64": numpy.float64, "I64": numpy.int64, "F32": numpy.float32, "I32": numpy.int32}
NAMES = {numpy.dtype(numpy.float32): "F32", numpy.dtype(numpy.int64): "I64"}


def read_arrays(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    return {name: numpy.frombuffer(data, TYPES[entry["dtype"]], int(numpy.prod(entry["shape"])), 8 + length + entry["data_offsets"][0])
            .reshape(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


def write_arrays(path, arrays):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in arrays.values()))
