"""Tensors in files as plimsoll-engine reads and writes them (safetensors)."""
import json

import torch

TYPES = {torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        bytes_ = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def read_safetensors(path):
    file = path.read_bytes()
    length = int.from_bytes(file[:8], "little")
    types = {name: type_ for type_, name in TYPES.items()}
    tensors = {}
    for name, entry in json.loads(file[8:8 + length]).items():
        if name.startswith("__"):  # metadata and padding
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(file[begin:end]), dtype=types[entry["dtype"]]) if end > begin else torch.empty(0)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
