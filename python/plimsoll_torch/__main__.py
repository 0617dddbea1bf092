import signal
import sys

from .command import main

# Asked to end, clean up first: a half-written copy of the weights can be large.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
sys.exit(main())
