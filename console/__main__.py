"""``python -m console``: the same as the ``quarterdeck`` command."""

import sys

from console.cli import main

if __name__ == "__main__":
    sys.exit(main())
