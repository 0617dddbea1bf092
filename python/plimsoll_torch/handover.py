"""export(): a PyTorch module as an ONNX file, with nothing folded and the module left as it was."""

import contextlib
import dataclasses
import logging
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, field
from typing import List, Optional

from . import exporters, inputs as inputs_of, module_state, onnx_file
from .errors import HandoverError, first_line, one_line

SEED = 20240  # the same random numbers in every trace
MODES, WEIGHTS = ("train", "eval"), ("none", "inside", "beside")


@dataclass
class Report:
    """What was handed over."""

    path: str
    bytes: int
    weights: str  # none, inside or beside
    weights_path: Optional[str]
    weights_bytes: int  # of the file beside
    exporter: str
    mode: str
    opset: int
    parameters: int  # of the module
    parameters_in_file: int  # fewer where forward() leaves some unused
    batch: object  # "symbolic", or the fixed number
    symbolic_batch: bool
    inputs: List[str]
    outputs: List[str]
    torch: str
    notes: List[str] = field(default_factory=list)  # what was done otherwise than asked
    warnings: List[str] = field(default_factory=list)  # what PyTorch warned of

    def to_dict(self):
        return dict(dataclasses.asdict(self), version=1)


# Said of every model that is exported so, true and of no consequence here.
EXPECTED_WARNINGS = ("num_batches_tracked", "Exporting a model while it is in training mode")


def _worth_saying(caught):
    texts = [first_line(item.message) for item in caught
             if not issubclass(item.category, (DeprecationWarning, FutureWarning))]
    return [text for text in dict.fromkeys(texts) if not any(known in text for known in EXPECTED_WARNINGS)]


@dataclass
class _Model:
    """The borrowed module, and what a dry run of it showed."""

    module: object
    run: object
    inputs: list
    device: object
    root: Optional[str]
    outputs: List[str] = field(default_factory=list)

    def args(self, batch):
        import torch
        torch.manual_seed(SEED)
        return tuple(item.tensor(batch, self.device) for item in self.inputs)

    def dry_run(self, batch):
        """Names and shapes of what forward() returns."""
        named = module_state.named_tensors(self.run(*self.args(batch)))
        if not named:
            raise HandoverError("forward() returned no tensor, so there is no graph to write")
        self.outputs = module_state.output_names(named, [item.name for item in self.inputs])
        return [tuple(tensor.shape) for _, tensor in named]

    def axes(self):
        return {item.name: item.axis for item in self.inputs if item.axis is not None}


def _try(model, batch):
    """Shapes of the outputs at this batch, or the error."""
    try:
        return model.dry_run(batch), None
    except HandoverError:
        raise
    except Exception as error:
        return None, error


def _output_axes(names, two, three):
    """Which axes of the outputs move with the batch."""
    axes = {}
    for name, a, b in zip(names, two, three):
        moving = {axis: (x, y) for axis, (x, y) in enumerate(zip(a, b)) if x != y}
        axes[name] = {axis: "batch" if x == 2 else f"{x // 2}*batch" if x * 3 == y * 2 else f"{name}_{axis}"
                      for axis, (x, y) in moving.items()}
    return {name: found for name, found in axes.items() if found}


def _choose_batch(model, batch, notes):
    """Runs forward() as it is: ("symbolic" or a number, the fixed batch to fall back to, output axes)."""
    if batch != "symbolic":
        shapes, error = _try(model, batch)
        if error:
            raise _refused(model, batch, error) from error
        return batch, batch, {}
    two, error = _try(model, 2)
    three = _try(model, 3)[0] if two else None
    own = [item.example.shape[0] for item in model.inputs if item.example is not None and item.axis == 0]
    fixed = next((n for n in own + [1, 2] if n == 2 and two or _try(model, n)[0]), None)
    if fixed is None:
        raise _refused(model, 2, error) from error
    if three and len(two) == len(three) and model.axes():
        model.dry_run(2)
        return "symbolic", fixed, _output_axes(model.outputs, two, three)
    notes.append(f"the batch is fixed at {fixed}: forward() does not run at every batch")
    model.dry_run(fixed)
    return fixed, fixed, {}


def _refused(model, batch, error):
    shapes = ", ".join(f"{item.name} {item.dtype} {'x'.join(map(str, item.shape(batch))) or 'scalar'}"
                       for item in model.inputs)
    return HandoverError(f"forward() failed with {shapes}: {one_line(error, model.root)}")


def _request(model, batch, axes, opset, stored):
    names = [item.name for item in model.inputs]
    return exporters.Request(
        model.module, model.args(2 if batch == "symbolic" else batch), names, model.outputs,
        model.axes() if batch == "symbolic" else {}, axes if batch == "symbolic" else {}, opset, stored)


def _script_keeps_batch(model, axes, opset, path):
    """A trace turns a batch that went through Python into a number. Two traces tell."""
    other = path + ".other"
    request = _request(model, "symbolic", axes, opset, False)
    request.args = model.args(3)
    exporters.script(request, other)
    return onnx_file.first_difference(path, other)


def _attempt(model, names, batch, fixed, axes, opset, stored, folder, notes):
    """Tries the exporters in order; returns (exporter, file, batch)."""
    said = {}
    for name in names:
        for tried in dict.fromkeys((batch, fixed)):
            path = os.path.join(tempfile.mkdtemp(dir=folder), "model.onnx")
            try:
                request = _request(model, tried, axes, opset, stored or name == "dynamo")
                exporters.EXPORTERS[name](request, path)
                if name == "script" and tried == "symbolic":
                    node = _script_keeps_batch(model, axes, opset, path)
                    if node:
                        notes.append(f"the batch is fixed at {fixed}: forward() makes a Python number of it, "
                                     f"seen at {node}")
                        continue
                if said:
                    notes.extend(f"the {other} exporter failed: {text}" for other, text in said.items())
                if tried != batch and not notes:
                    notes.append(f"the batch is fixed at {fixed}: the {name} exporter could not keep it symbolic")
                return name, path, tried
            except Exception as error:
                unavailable = isinstance(error, exporters.Unavailable)
                said[name] = str(error) if unavailable else first_line(error)
                logging.getLogger("plimsoll_torch").debug("%s exporter, batch %s", name, tried, exc_info=error)
    which = "neither exporter" if len(names) > 1 else f"the {names[0]} exporter"
    verb = "could" if len(names) > 1 else "could not"
    lines = "".join(f"\n  {name}: {text}" for name, text in said.items())
    raise HandoverError(f"{which} {verb} write {type(model.module).__name__} as ONNX:{lines}")


@contextlib.contextmanager
def _borrowed(module, given, mode, root):
    import torch
    by_keyword = inputs_of.bind(given, module.forward)
    names = [item.name for item in given]
    with contextlib.ExitStack() as stack:
        stack.enter_context(module_state.kept_random())
        stack.enter_context(module_state.kept_tensors(module))
        stack.enter_context(module_state.in_mode(module, mode))
        stack.enter_context(module_state.without_cache(module))
        stack.enter_context(module_state.plain_kernels(module))
        run = module.forward
        if not isinstance(module, torch.jit.ScriptModule):
            run = stack.enter_context(module_state.flat_forward(module, names, by_keyword))
        yield _Model(module, run, given, module_state.device_of(module), root)


def _values_of(module):
    """Bytes of a parameter or buffer by its name in the graph."""
    import torch
    tensors = dict(module.named_buffers())
    tensors.update(module.named_parameters())

    def values(name):
        tensor = tensors.get(name)
        if tensor is None or tensor.is_meta:
            return None
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""
    return values


def _move(folder, target, data_name):
    data = os.path.join(folder, data_name)
    if os.path.exists(data):
        os.replace(data, os.path.join(os.path.dirname(target), data_name))
    os.replace(os.path.join(folder, "done.onnx"), target)


def export(module, inputs, path, mode="train", weights="none", *, batch="symbolic", exporter="auto",
           opset=None, root=None):
    """Writes `module` to `path` and returns a Report; raises HandoverError.

    inputs: example tensors (batch first), shapes without the batch, text as for --input, a list of
    these, or a dict by the parameters of forward(). The module is left as it was: its mode, parameters,
    buffers, gradients, forward and the random numbers. root: the user's file, to place errors in."""
    import torch
    for value, allowed, what in ((mode, MODES, "mode"), (weights, WEIGHTS, "weights"),
                                 (exporter, ("auto", "script", "dynamo"), "exporter")):
        if value not in allowed:
            raise HandoverError(f"{what} is {', '.join(allowed[:-1])} or {allowed[-1]}, not '{value}'")
    if batch != "symbolic" and (type(batch) is not int or batch < 1):
        raise HandoverError(f"batch is 'symbolic' or a whole number of at least 1, not '{batch}'")
    module = module_state.unwrap(module)
    target = os.path.abspath(os.fspath(path))
    if not os.path.isdir(os.path.dirname(target)):
        raise HandoverError(f"{os.path.dirname(target)}: no such folder to write {os.path.basename(target)} into")
    names = ["script", "dynamo"] if exporter == "auto" else [exporter]
    given, notes, data_name = inputs_of.of_values(inputs), [], os.path.basename(target) + ".data"
    folder = tempfile.mkdtemp(prefix=".plimsoll-", dir=os.path.dirname(target))
    try:
        with warnings.catch_warnings(record=True) as caught, \
                _borrowed(module, given, mode, root) as model:
            warnings.simplefilter("default")
            batch, fixed, axes = _choose_batch(model, batch, notes)
            plain = not isinstance(module, torch.jit.ScriptModule)
            stored = weights != "none" or not plain
            used, written, batch = _attempt(model, names, batch, fixed, axes, opset, stored, folder, notes)
        lifted = None if stored or used == "dynamo" else [item.name for item in given]
        facts = onnx_file.rewrite(written, os.path.join(folder, "done.onnx"), weights, lifted,
                                  _values_of(module), data_name)
        _move(folder, target, data_name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if facts.weights != weights:
        notes.append("the weights are beside the file: an ONNX file holds 2 GB at most")
    own = dict(module.named_parameters())
    return Report(
        path=target, bytes=os.path.getsize(target), weights=facts.weights,
        weights_path=target + ".data" if facts.data_bytes else None, weights_bytes=facts.data_bytes,
        exporter=used, mode=mode, opset=facts.opset,
        parameters=sum(value.numel() for value in own.values()),
        parameters_in_file=sum(count for name, count in facts.elements.items() if name in own),
        batch=batch, symbolic_batch=batch == "symbolic",
        inputs=[item.described() for item in given], outputs=model.outputs, torch=str(torch.__version__),
        notes=notes, warnings=_worth_saying(caught))
