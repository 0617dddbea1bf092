"""What can go wrong, as one exception a person can act on."""

import os
import traceback

DONE, WRONG_USE, NO_TORCH, INTERNAL = 0, 2, 3, 4


class HandoverError(Exception):
    """The model cannot be handed over; the message says why and what to do."""

    def __init__(self, message, code=WRONG_USE):
        super().__init__(message)
        self.code = code


def first_line(error):
    """Type and first line of an exception: what fits into one message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def where(error, root=None):
    """The place of an error in the user's own code: the innermost frame under `root` (a file or a
    folder), else the innermost frame that is neither PyTorch nor this package."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{os.path.basename(error.filename)} line {error.lineno}"
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.abspath(root) if root else None
    for frame in reversed(frames):
        path = os.path.abspath(frame.filename)
        if root:
            mine = path == root or path.startswith(root + os.sep)
        else:
            skipped = (os.sep + "torch" + os.sep, os.sep + "importlib" + os.sep)
            mine = not path.startswith(here) and not any(part in path for part in skipped)
            mine = mine and not frame.filename.startswith("<")
        if mine:
            return f"{os.path.basename(path)} line {frame.lineno}, in {frame.name}"
    return None


def one_line(error, root=None):
    """Cause and place of an error that the user's code raised."""
    place = where(error, root)
    return first_line(error) + (f" ({place})" if place else "")
