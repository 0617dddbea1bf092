"""Rewrites an exported ONNX file so that its weights are left out, inside, or in one file beside it."""

import os
from dataclasses import dataclass, field
from typing import Dict, List

from . import protobuf
from .protobuf import Slice, fields, message, number

# Field numbers of onnx.proto3.
MODEL_GRAPH, MODEL_OPSETS = 7, 8
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT = 1, 5, 11
NODE_NAME, NODE_TYPE = 3, 4
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9
TENSOR_EXTERNAL, TENSOR_LOCATION = 13, 14
TENSOR_VALUES = (4, 5, 6, 7, 9, 10, 11)  # float_data … raw_data … uint64_data
EXTERNAL = 1

BYTES_OF_TYPE = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8, 15: 16,
                 16: 2, 17: 1, 18: 1, 19: 1, 20: 1}
INTEGER_TYPES = (2, 3, 4, 5, 6, 7, 9, 12, 13)
# Small tensors stay: shapes, axes and indices are what shape inference reads. Whole numbers may be
# longer (position ids), yet quantised weights are not kept.
KEEP_BYTES, KEEP_INTEGER_BYTES = 1 << 10, 1 << 16
# Never a file that may exist: a stale model.onnx.data must not be taken for the weights.
LEFT_OUT = "weights-left-out"
PROTOBUF_LIMIT = (1 << 31) - 1
ALIGNMENT = 4096  # of tensors in the file beside, so that they can be mapped


@dataclass
class Facts:
    """What the finished file holds."""

    opset: int = 0
    elements: Dict[str, int] = field(default_factory=dict)  # of every initializer
    weights: str = "none"
    data_bytes: int = 0  # in the file beside it


@dataclass
class _Tensor:
    name: str = ""
    type: int = 0
    dims: List[int] = field(default_factory=list)
    pieces: list = field(default_factory=list)  # all but values and where they are
    values: list = field(default_factory=list)  # as they stand in the file
    raw: object = None  # the bytes, from inside or from a file the exporter wrote
    external: Dict[str, str] = field(default_factory=dict)

    def elements(self):
        total = 1
        for dim in self.dims:
            total *= dim
        return total

    def nbytes(self):
        return self.elements() * BYTES_OF_TYPE.get(self.type, 0)

    def kept(self):
        return self.type not in BYTES_OF_TYPE or self.nbytes() <= (
            KEEP_INTEGER_BYTES if self.type in INTEGER_TYPES else KEEP_BYTES)


def _text(body):
    return body.bytes().decode("utf-8", "replace")


def _dims(item):
    if item.wire == protobuf.VARINT:
        return [item.value]
    values, at, end = [], item.body.start, item.body.start + item.body.length
    while at < end:
        value, at = protobuf._varint(item.body.data, at)
        values.append(value)
    return values


def _parse_tensor(body, folder):
    tensor = _Tensor()
    for item in fields(body):
        if item.number in TENSOR_VALUES:
            tensor.values.append(item.whole)
            if item.number == TENSOR_RAW:
                tensor.raw = item.body
        elif item.number == TENSOR_EXTERNAL:
            entry = {part.number: _text(part.body) for part in fields(item.body)}
            tensor.external[entry.get(1, "")] = entry.get(2, "")
        elif item.number != TENSOR_LOCATION:
            tensor.pieces.append(item.whole)
            if item.number == TENSOR_NAME:
                tensor.name = _text(item.body)
            elif item.number == TENSOR_TYPE:
                tensor.type = item.value
            elif item.number == TENSOR_DIMS:
                tensor.dims += _dims(item)
    if tensor.external:
        path = os.path.join(folder, tensor.external.get("location", ""))
        if os.path.isfile(path):
            whole = protobuf.open_slice(path)
            start = int(tensor.external.get("offset", 0))
            length = int(tensor.external.get("length", whole.length - start))
            tensor.raw = Slice(whole.data, start, length)
            tensor.values = message(TENSOR_RAW, [tensor.raw])
    return tensor


def _tensor_of_input(body, values):
    """A parameter that the exporter declared as an input (it was told to leave the weights out)."""
    tensor, shape = _Tensor(), None
    for item in fields(body):
        if item.number == 1:
            tensor.name = _text(item.body)
        elif item.number == 2:  # TypeProto.tensor_type
            inner = next(part.body for part in fields(item.body) if part.number == 1)
            for part in fields(inner):
                if part.number == 1:
                    tensor.type = part.value
                elif part.number == 2:
                    shape = part.body
    for item in fields(shape) if shape else ():
        tensor.dims.append(next((part.value for part in fields(item.body) if part.number == 1), 1))
    tensor.pieces = [piece for dim in tensor.dims for piece in number(TENSOR_DIMS, dim)]
    tensor.pieces += number(TENSOR_TYPE, tensor.type) + message(TENSOR_NAME, tensor.name)
    if tensor.kept():
        raw = values(tensor.name)
        if raw is not None and len(raw) == tensor.nbytes():
            tensor.values = message(TENSOR_RAW, [raw])
    return tensor


def _external(location, offset, length):
    entries = []
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        entries += message(TENSOR_EXTERNAL, message(1, key) + message(2, value))
    return entries + number(TENSOR_LOCATION, EXTERNAL)


class _Weights:
    """Places every initializer: left out, inside, or beside."""

    def __init__(self, kind, location):
        self.kind, self.location, self.offset, self.beside = kind, location, 0, []

    def pieces(self, tensor):
        if self.kind == "inside" or (tensor.kept() and tensor.values):
            return message(GRAPH_INITIALIZER, tensor.pieces + tensor.values)
        if self.kind == "none":
            entry = _external(LEFT_OUT, self.offset, tensor.nbytes())
            self.offset += tensor.nbytes()
            return message(GRAPH_INITIALIZER, tensor.pieces + entry)
        if tensor.raw is None:  # values spelled out in float_data: small, as exporters write raw ones
            return message(GRAPH_INITIALIZER, tensor.pieces + tensor.values)
        gap = -self.offset % ALIGNMENT
        self.beside += [bytes(gap), tensor.raw]
        self.offset += gap
        entry = _external(self.location, self.offset, len(tensor.raw))
        self.offset += len(tensor.raw)
        return message(GRAPH_INITIALIZER, tensor.pieces + entry)


def _input_name(body):
    return next(_text(item.body) for item in fields(body) if item.number == 1)


def _graph(body, folder, weights, inputs, values, facts):
    pieces = []
    for item in fields(body):
        if item.number == GRAPH_INITIALIZER:
            tensor = _parse_tensor(item.body, folder)
        elif inputs is not None and item.number == GRAPH_INPUT \
                and _input_name(item.body) not in inputs:
            tensor = _tensor_of_input(item.body, values)
        else:
            pieces.append(item.whole)
            continue
        facts.elements[tensor.name] = tensor.elements()
        pieces += weights.pieces(tensor)
    return pieces


def _opset(body):
    domain, version = "", 0
    for item in fields(body):
        if item.number == 1:
            domain = _text(item.body)
        elif item.number == 2:
            version = item.value
    return version if domain in ("", "ai.onnx") else 0


def rewrite(source, target, kind, inputs, values, data_name):
    """Writes `source` as `target`. `inputs`: the true inputs, every other one being a parameter that
    the exporter was told not to store; None where it stored them all. `values(name)` gives the bytes of a parameter; `data_name` is the file beside, in target's folder."""
    whole = protobuf.open_slice(source)
    folder = os.path.dirname(os.path.abspath(source))
    for attempt in (kind, "beside"):
        facts, weights, pieces = Facts(weights=attempt), _Weights(attempt, data_name), []
        for item in fields(whole):
            if item.number == MODEL_GRAPH:
                graph = _graph(item.body, folder, weights, inputs, values, facts)
                pieces += message(MODEL_GRAPH, graph)
            else:
                pieces.append(item.whole)
                if item.number == MODEL_OPSETS:
                    facts.opset = max(facts.opset, _opset(item.body))
        if attempt != "inside" or sum(len(piece) for piece in pieces) <= PROTOBUF_LIMIT:
            break
    with open(target, "wb") as file:
        protobuf.write(file, pieces)
    if weights.beside:
        with open(os.path.join(os.path.dirname(target), data_name), "wb") as file:
            facts.data_bytes = protobuf.write(file, weights.beside)
    return facts


def _nodes(path):
    for item in fields(protobuf.open_slice(path)):
        if item.number == MODEL_GRAPH:
            for part in fields(item.body):
                if part.number == GRAPH_NODE:
                    yield part.body


def first_difference(one, other):
    """The name of the first node that is not the same in two files, None where all are."""
    ours, theirs = list(_nodes(one)), list(_nodes(other))
    for a, b in zip(ours, theirs):
        if a.bytes() != b.bytes():
            parts = {item.number: _text(item.body) for item in fields(a)
                     if item.number in (NODE_NAME, NODE_TYPE)}
            return parts.get(NODE_NAME) or parts.get(NODE_TYPE, "a node")
    return None if len(ours) == len(theirs) else "the number of nodes"
