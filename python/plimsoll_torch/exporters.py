"""PyTorch's two ways to ONNX: from a TorchScript trace, and from torch.export. Found by what this PyTorch
offers, not by its version."""

import contextlib
import importlib
import importlib.util
import inspect
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

DEFAULT_SCRIPT_OPSET = 17  # the first with LayerNormalization, and the last of PyTorch 1.13


class Unavailable(Exception):
    """This PyTorch has no such exporter, or it lacks a package."""


@dataclass
class Request:
    """One export: which module, on which examples, with which axes symbolic."""

    module: Any
    args: Tuple
    input_names: List[str]
    output_names: List[str]
    input_axes: Dict[str, int]  # where the batch is, empty for a fixed one
    output_axes: Dict[str, Dict[int, str]]
    opset: Optional[int]
    stored: bool  # with the weights


def _parameters():
    import torch
    return inspect.signature(torch.onnx.export).parameters


def has_script():
    import torch
    known = _parameters()
    return hasattr(torch.onnx, "TrainingMode") and "training" in known and "do_constant_folding" in known \
        and ("dynamo" in known or "dynamic_shapes" not in known)


def _missing(package):
    return importlib.util.find_spec(package) is None


@contextlib.contextmanager
def _patched(owner, name, make):
    """Replaces owner.name by make(original) for a while; does nothing where there is no such thing."""
    original = getattr(owner, name, None)
    if original is None:
        yield
        return
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def _proto_utils():
    for name in ("torch.onnx._internal.torchscript_exporter.onnx_proto_utils",
                 "torch.onnx._internal.onnx_proto_utils"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    return None


@contextlib.contextmanager
def _faithful_script():
    import torch

    # In evaluation mode initializers with equal values (BatchNorm's ones and zeros) become one. As in
    # training mode, only those that share storage should: tied weights stay one, others stay apart.
    def by_storage(original):
        return lambda graph, parameters, training: original(graph, parameters, True)

    # Adds the user's own onnxscript functions, and for that alone wants the onnx package.
    def unchanged(original):
        return (lambda proto, *rest: proto) if _missing("onnx") else original

    with _patched(torch._C, "_jit_pass_onnx_deduplicate_initializers", by_storage), \
            _patched(_proto_utils(), "_add_onnxscript_fn", unchanged):
        yield


def script(request, path):
    """Traces the module; nothing is folded."""
    import torch
    if not has_script():
        raise Unavailable(f"PyTorch {torch.__version__} no longer has the TorchScript exporter")
    axes = {name: {axis: "batch"} for name, axis in request.input_axes.items()}
    axes.update(request.output_axes if axes else {})
    options = dict(
        export_params=request.stored,
        input_names=request.input_names,
        output_names=request.output_names,
        dynamic_axes=axes,
        opset_version=request.opset or DEFAULT_SCRIPT_OPSET,
        # PRESERVE and not EVAL: EVAL folds BatchNorm into convolutions whatever else is said.
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
        keep_initializers_as_inputs=False,
        export_modules_as_functions=False,
        verbose=False,
        dynamo=False,
    )
    known = _parameters()
    with _faithful_script():
        torch.onnx.export(request.module, request.args, path,
                          **{key: value for key, value in options.items() if key in known})


def dynamo(request, path):
    """Goes through torch.export; nothing is optimised."""
    import torch
    known = _parameters()
    new = "dynamo" in known and "dynamic_shapes" in known
    if not new and not hasattr(torch.onnx, "dynamo_export"):
        raise Unavailable(f"PyTorch {torch.__version__} has no torch.export-based exporter (it needs 2.1 or later)")
    missing = [name for name in ("onnx", "onnxscript") if _missing(name)]
    if missing:
        raise Unavailable(f"needs {' and '.join(missing)}: {sys.executable} -m pip install {' '.join(missing)}")
    if not new:
        if request.input_axes:
            raise Unavailable(f"PyTorch {torch.__version__} cannot keep the batch alone symbolic")
        torch.onnx.dynamo_export(request.module, *request.args).save(path)
        return
    shapes = None
    if request.input_axes:
        batch = torch.export.Dim("batch")
        shapes = {name: {request.input_axes[name]: batch} if name in request.input_axes else None
                  for name in request.input_names}
    options = dict(
        input_names=request.input_names,
        output_names=request.output_names,
        dynamic_shapes=shapes,
        opset_version=request.opset,
        external_data=True,
        optimize=False,
        fallback=False,
        verbose=False,
        dynamo=True,
    )
    torch.onnx.export(request.module, request.args, path,
                      **{key: value for key, value in options.items() if key in known})


EXPORTERS = {"script": script, "dynamo": dynamo}
