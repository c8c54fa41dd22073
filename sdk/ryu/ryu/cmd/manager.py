"""`ryu.cmd.manager.main`: what `ryu-manager` calls, for programs that start Ryu by import.

    >>> from ryu.cmd import manager
    >>> manager.main(["--verbose", "my_switch.py"])
"""

import sys

from aldis_ryu import command


def main(args=None, prog=None):
    """Loads the applications that `args` name and serves them until a signal ends it.

    Without `args` they come from the command line. Returns the exit code.
    """
    return command.main(args, prog)


if __name__ == "__main__":
    sys.exit(main())
