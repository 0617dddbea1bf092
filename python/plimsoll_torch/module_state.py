"""Borrows a module for an export, and gives it back as it was."""

import contextlib
import dataclasses
import random
import sys
from collections.abc import Mapping


def unwrap(module):
    """The module itself, without what DataParallel, DDP or torch.compile put around it."""
    import torch
    while True:
        if isinstance(module, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
            module = module.module
        elif type(module).__name__ == "OptimizedModule" and hasattr(module, "_orig_mod"):
            module = module._orig_mod
        else:
            return module


def device_of(module):
    import torch
    tensors = list(module.parameters()) or list(module.buffers())
    return tensors[0].device if tensors else torch.device("cpu")


@contextlib.contextmanager
def kept_random():
    """Random numbers drawn inside leave no trace outside."""
    import torch
    numpy = sys.modules.get("numpy")
    python, cpu = random.getstate(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    arrays = numpy.random.get_state() if numpy else None
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if arrays is not None:
            numpy.random.set_state(arrays)


@contextlib.contextmanager
def kept_tensors(module):
    """Buffers keep their values (BatchNorm's statistics move in a training trace) and their identity,
    parameters their requires_grad and gradient."""
    import torch
    buffers = [(owner, name, value, None if value is None or value.is_meta else value.detach().clone())
               for owner in module.modules() for name, value in owner._buffers.items()]
    parameters = [(value, value.requires_grad, value.grad) for value in module.parameters()]
    try:
        yield
    finally:
        with torch.no_grad():
            for owner, name, value, copy in buffers:
                owner._buffers[name] = value
                if copy is not None:
                    value.copy_(copy)
        for value, requires_grad, gradient in parameters:
            value.requires_grad_(requires_grad)
            value.grad = gradient


@contextlib.contextmanager
def in_mode(module, mode):
    """Training or evaluation. A module that trains already keeps what it froze (BatchNorm in eval)."""
    flags = [(part, part.training) for part in module.modules()]
    if mode == "eval" or not module.training:
        module.train(mode == "train")
    try:
        yield
    finally:
        for part, training in flags:
            part.training = training


@contextlib.contextmanager
def without_cache(module):
    """Hugging Face: no past_key_values among the outputs."""
    changed = []
    for part in module.modules():
        for name in ("config", "generation_config"):
            config = part.__dict__.get(name)
            if getattr(config, "use_cache", None) and all(config is not other for other in changed):
                config.use_cache = False
                changed.append(config)
    try:
        yield
    finally:
        for config in changed:
            config.use_cache = True


@contextlib.contextmanager
def plain_kernels(module):
    """Keeps nn.TransformerEncoderLayer and nn.MultiheadAttention off their fused evaluation path, which
    has no ONNX form. Otherwise no gradients are recorded."""
    import torch
    switch = getattr(torch.backends, "mha", None)
    if switch is not None and hasattr(switch, "set_fastpath_enabled"):
        before = switch.get_fastpath_enabled()
        switch.set_fastpath_enabled(False)
        try:
            with torch.no_grad():
                yield
        finally:
            switch.set_fastpath_enabled(before)
        return
    # PyTorch 1.13 has no switch, but takes the path only where no gradient is asked for.
    attention = [part for part in module.modules()
                 if isinstance(part, (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer))]
    if module.training or not attention:
        with torch.no_grad():
            yield
        return
    for part in attention:
        for value in part.parameters():
            value.requires_grad_(True)
    with torch.enable_grad():
        yield


def named_tensors(value, name=""):
    """Every tensor in what forward() returned, with a name; caches, numbers and None are left out."""
    import torch
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = list(zip(value._fields, value))
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [(part.name, getattr(value, part.name)) for part in dataclasses.fields(value)]
    else:
        return []
    found, seen = [], set()
    for key, part in items:
        for inner, tensor in named_tensors(part, f"{name}_{key}" if name else str(key)):
            if id(tensor) not in seen:  # one tensor twice is one output
                seen.add(id(tensor))
                found.append((inner, tensor))
    return found


def output_names(named, inputs):
    """Names for the ONNX outputs: none twice, none an input's."""
    names, taken = [], set(inputs)
    for name, _ in named:
        name = "output" if not name else f"output_{name}" if name[0].isdigit() else name
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        taken.add(unique)
        names.append(unique)
    return names


@contextlib.contextmanager
def flat_forward(module, names, by_keyword):
    """forward() takes tensors by position and returns tensors only. It is replaced on the instance,
    rather than the module wrapped, so that parameters keep their names. Yields the function that runs
    the original."""
    original = module.forward
    had = module.__dict__.get("forward")

    def run(*tensors):
        positional = [t for n, t in zip(names, tensors) if n not in by_keyword]
        keywords = {n: t for n, t in zip(names, tensors) if n in by_keyword}
        return original(*positional, **keywords)

    def call(*tensors):
        found = [tensor for _, tensor in named_tensors(run(*tensors))]
        return found[0] if len(found) == 1 else tuple(found)

    # Exporters read the parameters' names from the function's own code.
    listed = ", ".join(names)
    module.__dict__["forward"] = eval(f"lambda {listed}: call({listed})", {"call": call})
    try:
        yield run
    finally:
        if had is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = had
