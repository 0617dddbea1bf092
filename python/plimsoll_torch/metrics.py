"""Metrics of a training, told to the `plimsoll run` that watches it. Needs no PyTorch."""
import os
import socket
import threading
import warnings

_lock = threading.Lock()
_connection = None  # False once there is nobody to talk to


def log(name, value, step=None, epoch=None):
    """Records one value. Outside of `plimsoll run` it does nothing; a Plimsoll that has gone is no error of the training.
    Returns at once: what was said is kept within a tenth of a second, and `flush` waits for that."""
    line = f"metric {name} {float(value)!r}"
    if any(c.isspace() for c in str(name)) or not str(name):
        raise ValueError(f"a metric's name has no spaces: {name!r}")
    if step is not None:
        line += f" step {int(step)}"
    if epoch is not None:
        line += f" epoch {int(epoch)}"
    with _lock:
        _send(line)


def epoch(number):
    """Says that this epoch has ended; `plimsoll run --epoch-limit` goes by it."""
    with _lock:
        _send(f"epoch {int(number)}")


def flush(timeout=10.0):
    """Waits until every metric so far is in the store. False where nobody said so in time, or one is not kept."""
    with _lock:
        if not _connection:
            return False
        return _connection.wait(timeout)


class _Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.pid = os.getpid()
        self.sent = self.kept = 0
        self.refused = False
        self.rest = b""

    def send(self, line):
        self.socket.sendall(line.encode() + b"\n")
        self.sent += line.startswith("metric ")
        self.read(0)

    def read(self, timeout):
        self.socket.settimeout(timeout or 1e-6)
        try:
            answer = self.socket.recv(65536)
        except (TimeoutError, BlockingIOError):
            return
        finally:
            self.socket.settimeout(None)
        if not answer:
            raise ConnectionError
        *lines, self.rest = (self.rest + answer).split(b"\n")
        for line in lines:
            if line.startswith(b"ok "):
                self.kept = int(line[3:])
            elif line.startswith(b"error "):
                if not self.refused:
                    warnings.warn("plimsoll: " + line.decode(errors="replace"))
                self.refused = True

    def wait(self, timeout):
        import time
        end = time.monotonic() + timeout
        while self.kept < self.sent and not self.refused and time.monotonic() < end:
            try:
                self.read(0.05)
            except OSError:
                return False
        return self.kept >= self.sent


def _send(line):
    global _connection
    if _connection is not None and _connection and _connection.pid != os.getpid():
        _connection = None  # a forked worker speaks for itself
    if _connection is None:
        path = os.environ.get("PLIMSOLL_SOCKET")
        try:
            _connection = _Connection(path) if path else False
        except OSError:
            _connection = False
    if not _connection:
        return
    try:
        _connection.send(line)
    except OSError:
        _connection = False
