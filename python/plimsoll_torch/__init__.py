"""Hands a PyTorch module over to Plimsoll as an ONNX file, in training or evaluation mode, nothing folded.

    import plimsoll_torch
    report = plimsoll_torch.export(module, "3x224x224", "model.onnx", mode="train")

or, from a shell:  python -m plimsoll_torch train.py:make_model --input 3x224x224 -o model.onnx

Under `plimsoll run`, plimsoll_torch.log("loss", 0.12, step=40) records a metric without touching the output.
"""

__version__ = "0.1.0"
__all__ = ["HandoverError", "Input", "Report", "export", "log", "record_memory"]

_HOMES = {"HandoverError": "errors", "Input": "inputs", "Report": "handover", "export": "handover",
          "log": "metrics", "record_memory": "memory"}


def __getattr__(name):
    # Late, so that `python -m plimsoll_torch` can say in its own words that PyTorch is missing.
    if name not in _HOMES:
        raise AttributeError(f"module 'plimsoll_torch' has no attribute '{name}'")
    from importlib import import_module
    return getattr(import_module("." + _HOMES[name], __name__), name)
