"""Finds the user's model: FILE.py:NAME or package.module:NAME."""

import ast
import importlib
import importlib.util
import inspect
import os
import sys

from .errors import HandoverError, one_line


def parse_arguments(pairs):
    """key=value pairs for make_model; values are Python literals, else text."""
    arguments = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.isidentifier():
            raise HandoverError(f"--args {pair}: expected key=value, as in --args num_classes=10")
        try:
            arguments[key] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            arguments[key] = text
    return arguments


def _import_failed(error, what, root):
    missing = getattr(error, "name", None)
    if isinstance(error, ModuleNotFoundError) and missing:
        return HandoverError(
            f"{what} needs the package '{missing}', which {sys.executable} does not have: "
            f"install it there, or run with the Python of your training environment")
    return HandoverError(f"{what} raised while it was imported: {one_line(error, root)}")


def _load_file(path):
    if not os.path.isfile(path):
        raise HandoverError(f"{path}: no such file")
    path = os.path.abspath(path)
    # The file's own folder comes first, as when Python runs it as a script.
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules or not name.isidentifier():
        name = "plimsoll_user_model"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise HandoverError(
            f"{os.path.basename(path)} ends the program while it is imported (exit {error.code}): "
            f"put what it runs under  if __name__ == \"__main__\":") from error
    except Exception as error:
        raise _import_failed(error, os.path.basename(path), path) from error
    return module, path


def _load_package(name):
    # Where `python -m` runs from is the user's project.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        top = name.split(".")[0]
        if error.name and (error.name == name or name.startswith(error.name + ".")):
            hint = (f": install it ({sys.executable} -m pip install {top}), or give a file: FILE.py:NAME"
                    if error.name == top else "")
            raise HandoverError(f"no module '{error.name}' in {sys.executable}{hint}") from error
        raise _import_failed(error, name, None) from error
    except Exception as error:
        raise _import_failed(error, name, None) from error
    path = getattr(module, "__file__", None)
    return module, os.path.dirname(path) if path else None


def _candidates(module):
    import torch
    names = []
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        own = getattr(value, "__module__", None) == module.__name__
        if isinstance(value, torch.nn.Module) or (
                own and (inspect.isfunction(value) or
                         (inspect.isclass(value) and issubclass(value, torch.nn.Module)))):
            names.append(name)
    return names


def load_model(spec, arguments):
    """The nn.Module that `spec` names, and the file or folder its code lives in."""
    import torch
    place, colon, name = spec.rpartition(":")
    # Without a name, or with a drive letter's colon (C:\model.py).
    if not colon or name.endswith(".py"):
        place, name = spec, ""
    is_file = place.endswith(".py") or os.sep in place
    module, root = _load_file(place) if is_file else _load_package(place)

    offers = _candidates(module)
    listing = f"; it offers {', '.join(offers[:12])}{', …' if len(offers) > 12 else ''}" if offers else ""
    if not name:
        raise HandoverError(f"{spec}: say which function, class or module, as in {place}:"
                            f"{offers[0] if offers else 'make_model'}{listing}")
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise HandoverError(f"{place} has no '{name}'{listing}")
        found = getattr(found, part)

    if isinstance(found, torch.nn.Module):
        if arguments:
            raise HandoverError(f"--args: {spec} is a module that exists already, it takes no arguments")
        return found, root
    if not callable(found):
        raise HandoverError(f"{spec} is a {type(found).__name__}, not a torch.nn.Module, "
                            f"nor a function or class that makes one{listing}")
    try:
        inspect.signature(found).bind(**arguments)
    except TypeError as error:
        raise HandoverError(f"{spec}{inspect.signature(found)}: {error}; "
                            f"give what it needs with --args key=value") from error
    except ValueError:
        pass  # no signature to be had: let the call speak
    try:
        made = found(**arguments)
    except Exception as error:
        raise HandoverError(f"{spec} raised: {one_line(error, root)}") from error
    if not isinstance(made, torch.nn.Module):
        raise HandoverError(f"{spec} returned a {type(made).__name__}, not a torch.nn.Module")
    return made, root
