"""``python -m proposals``: see ``cli``."""

import sys

from proposals.cli import main

sys.exit(main(sys.argv[1:]))
