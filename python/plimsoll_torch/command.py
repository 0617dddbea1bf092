"""python -m plimsoll_torch: the command line. Standard output holds the JSON report or nothing."""

import argparse
import contextlib
import faulthandler
import json
import logging
import os
import sys
import tempfile
import traceback

from . import __version__
from .errors import DONE, INTERNAL, NO_TORCH, HandoverError, first_line


def _batch(text):
    if text == "symbolic":
        return text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}' is neither 'symbolic' nor a whole number of at least 1")


def _parser():
    parser = argparse.ArgumentParser(
        prog="plimsoll_torch", description="Writes a PyTorch module as ONNX, with nothing folded, for plimsoll.")
    parser.add_argument("model", metavar="FILE.py:NAME",
                        help="a function that returns a module, a class or a module; or package.module:NAME")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=][DTYPE:]DIMS",
                        help="one input without its batch: 3x224x224, input_ids=int64:128; B marks a batch that "
                             "is not first (128xBx512), /nobatch an input without one; once for each")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.onnx")
    parser.add_argument("--mode", choices=("train", "eval"), default="train")
    parser.add_argument("--weights", choices=("none", "inside", "beside"), default="none",
                        help="left out (shapes only), inside the file, or in FILE.onnx.data")
    parser.add_argument("--batch", type=_batch, default="symbolic", metavar="symbolic|N")
    parser.add_argument("--exporter", choices=("auto", "script", "dynamo"), default="auto",
                        help="auto: TorchScript, and where it fails torch.export")
    parser.add_argument("--opset", type=int, metavar="N")
    parser.add_argument("--args", action="append", nargs="+", default=[], metavar="KEY=VALUE",
                        help="arguments of the function or class")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--verbose", action="store_true", help="show PyTorch's own messages and whole tracebacks")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


@contextlib.contextmanager
def _stdout_for_report():
    """Whatever user code or PyTorch prints goes to standard error; yields the true standard output."""
    sys.stdout.flush()
    true = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(true, "w", closefd=False) as file:
            yield file
    finally:
        sys.stdout.flush()
        os.dup2(true, 1)
        os.close(true)


@contextlib.contextmanager
def _silence(verbose):
    """Exporters talk much, some of it from C++: their standard error goes away unless asked for."""
    if verbose:
        yield
        return
    sys.stdout.flush()  # what user code printed before belongs to the user
    sys.stderr.flush()
    true = os.dup(2)
    with tempfile.TemporaryFile() as noise, os.fdopen(true, "w") as console:
        faulthandler.enable(console)  # a crash inside PyTorch must not be silent
        os.dup2(noise.fileno(), 2)
        os.dup2(noise.fileno(), 1)
        try:
            yield
        finally:
            sys.stderr.flush()
            sys.stdout.flush()
            os.dup2(true, 2)
            os.dup2(true, 1)
            faulthandler.disable()


def _require_torch():
    try:
        import torch  # noqa: F401
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            raise HandoverError(
                f"PyTorch is not installed for {sys.executable}: {sys.executable} -m pip install torch, "
                f"or run with the Python of your training environment", NO_TORCH) from error
        raise HandoverError(f"PyTorch does not load in {sys.executable}: {first_line(error)}", NO_TORCH) from error


def _summary(report, verbose):
    weights = {"none": "weights left out", "inside": "weights inside",
               "beside": f"weights in {report.weights_path}"}[report.weights]
    lines = [f"{report.path}: {report.bytes} bytes, {weights}",
             f"  {report.parameters} parameters, {report.mode} mode, batch {report.batch}, "
             f"{report.exporter} exporter, opset {report.opset}"]
    if report.parameters_in_file < report.parameters:
        lines.append(f"  {report.parameters_in_file} of the parameters are in the graph: "
                     f"forward() does not use the others")
    lines += [f"  note: {note}" for note in report.notes]
    if report.warnings and verbose:
        lines += [f"  {text}" for text in report.warnings]
    elif report.warnings:
        count = len(report.warnings)
        lines.append(f"  PyTorch gave {count} warning{'s' if count > 1 else ''}; --verbose shows {'them' if count > 1 else 'it'}")
    return "\n".join(lines)


def _work(options):
    _require_torch()
    from .handover import export
    from .inputs import parse
    from .source import load_model, parse_arguments
    given = [parse(text) for text in options.input]
    if not given:
        raise HandoverError("--input is missing: say what forward() takes, without the batch, "
                            "as in --input 3x224x224 or --input input_ids=int64:128")
    arguments = parse_arguments([pair for group in options.args for pair in group])
    module, root = load_model(options.model, arguments)
    with _silence(options.verbose):
        return export(module, given, options.output, options.mode, options.weights, batch=options.batch,
                      exporter=options.exporter, opset=options.opset, root=root)


def main(arguments=None):
    options = _parser().parse_args(arguments)
    if options.verbose:
        logging.basicConfig(level=logging.INFO, stream=sys.stderr)
        logging.getLogger("plimsoll_torch").setLevel(logging.DEBUG)
    with _stdout_for_report() as stdout:
        try:
            report = _work(options)
        except HandoverError as error:
            if options.verbose and error.__cause__ is not None:
                traceback.print_exception(type(error.__cause__), error.__cause__, error.__cause__.__traceback__)
            print(f"plimsoll_torch: {error}", file=sys.stderr)
            return error.code
        except KeyboardInterrupt:
            return 130
        except Exception as error:
            if options.verbose:
                traceback.print_exc()
            print(f"plimsoll_torch: internal error: {first_line(error)}; --verbose shows where", file=sys.stderr)
            return INTERNAL
        print(_summary(report, options.verbose), file=sys.stderr)
        if options.json:
            json.dump(report.to_dict(), stdout)
            stdout.write("\n")
            stdout.flush()
    return DONE
