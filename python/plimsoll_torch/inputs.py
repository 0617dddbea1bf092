"""What goes into forward(): shapes as the user writes them, and example tensors made of them."""

import re
from dataclasses import dataclass, replace
from typing import Any, Optional, Tuple

from .errors import HandoverError

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = FLOATS + INTEGERS + ("bool",)
FORMAT = ("expected [NAME=][DTYPE:]DIMSxDIMS without the batch, "
          "as in 3x224x224 or input_ids=int64:128")


@dataclass
class Input:
    """One argument of forward(). `dims` leaves the batch out; `axis` is where it goes, None for nowhere."""

    name: Optional[str]  # of the parameter of forward(); None: by position
    dtype: str
    dims: Tuple[int, ...]
    axis: Optional[int] = 0
    example: Any = None  # the user's own tensor, batch included

    def shape(self, batch):
        if self.axis is None:
            return tuple(self.dims)
        return tuple(self.dims[:self.axis]) + (batch,) + tuple(self.dims[self.axis:])

    def tensor(self, batch, device):
        """An example. Whole numbers are zeros: an index every embedding has. Masks let everything through."""
        import torch
        if self.example is not None:
            if self.axis is None or self.example.shape[0] == batch:
                return self.example.to(device)
            rows = torch.arange(batch, device=self.example.device) % self.example.shape[0]
            return self.example.index_select(0, rows).to(device)
        shape, dtype = self.shape(batch), getattr(torch, self.dtype)
        if self.dtype in FLOATS:
            return torch.randn(shape).to(device=device, dtype=dtype)
        if self.dtype == "bool" or (self.name and "mask" in self.name):
            return torch.ones(shape, dtype=dtype, device=device)
        return torch.zeros(shape, dtype=dtype, device=device)

    def described(self):
        dims = [str(d) for d in self.dims]
        if self.axis is not None:
            dims.insert(self.axis, "batch")
        return f"{self.name}={self.dtype}:{'x'.join(dims)}"


def parse(text):
    """[NAME=][DTYPE:]DIMS[/nobatch]; a B among the dims says where the batch goes, else it comes first."""
    match = re.fullmatch(r"(?:([A-Za-z_]\w*)=)?(?:([a-z]+\d*):)?([0-9xXB]*)(/nobatch)?", text)
    if not match:
        raise HandoverError(f"--input {text}: {FORMAT}")
    name, dtype, shape, nobatch = match.groups()
    dtype = dtype or "float32"
    if dtype not in DTYPES:
        raise HandoverError(f"--input {text}: no type '{dtype}'; there are {', '.join(DTYPES)}")
    parts = re.split("[xX]", shape) if shape else []
    axis = parts.index("B") if "B" in parts else 0
    dims = [part for part in parts if part != "B"]
    if not all(part.isdigit() and int(part) > 0 for part in dims) or len(parts) - len(dims) > 1 \
            or (nobatch and "B" in parts):
        raise HandoverError(f"--input {text}: {FORMAT}")
    return Input(name, dtype, tuple(int(part) for part in dims), None if nobatch else axis)


def _of_one(value, name=None):
    import torch
    if isinstance(value, Input):
        return replace(value, name=name or value.name)
    if isinstance(value, str):
        made = parse(value)
        made.name = name or made.name
        return made
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).replace("torch.", "")
        axis = 0 if value.dim() else None
        return Input(name, dtype, tuple(value.shape[1:]), axis, value.detach())
    if isinstance(value, (tuple, list, torch.Size)) and all(type(d) is int for d in value):
        return Input(name, "float32", tuple(value))
    raise HandoverError(f"inputs: a tensor, a shape without the batch such as (3, 224, 224), or text such as "
                        f"'int64:128' was expected, not a {type(value).__name__}")


def of_values(values):
    """What export() was given, as a list of Input: one value, a list of them, or a dict by name."""
    if isinstance(values, dict):
        return [_of_one(value, name) for name, value in values.items()]
    if isinstance(values, (tuple, list)) and not (values and all(type(v) is int for v in values)):
        return [_of_one(value) for value in values]
    return [_of_one(values)]


def bind(inputs, forward):
    """Gives every input the name of its parameter of forward(), and says which go by keyword."""
    import inspect
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    slots = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    any_keyword = any(p.kind == p.VAR_KEYWORD for p in parameters)
    any_position = any(p.kind == p.VAR_POSITIONAL for p in parameters) or not parameters
    listed = ", ".join(p.name for p in parameters) or "nothing"
    by_keyword, position, taken = set(), 0, set()
    for index, item in enumerate(inputs):
        if item.name is None:
            if by_keyword:
                raise HandoverError("inputs: those without a name come before those with one")
            if position < len(slots):
                item.name = slots[position]
            elif any_position:
                item.name = f"input_{index}"
            else:
                raise HandoverError(f"{len(inputs)} inputs, but forward() takes {len(slots)}: {listed}")
            position += 1
        elif item.name in keywords or any_keyword or not parameters:
            by_keyword.add(item.name)
        else:
            raise HandoverError(f"forward() has no parameter '{item.name}'; it takes {listed}")
        if item.name in taken:
            raise HandoverError(f"inputs: '{item.name}' is given twice")
        taken.add(item.name)
    needed = [p.name for p in parameters
              if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
              and p.name not in taken]
    if needed:
        raise HandoverError(f"forward() also needs {', '.join(needed)}: "
                            f"give each with --input, as in --input {needed[0]}=3x224x224")
    return by_keyword
