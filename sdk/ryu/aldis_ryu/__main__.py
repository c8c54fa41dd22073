"""`python3 -m aldis_ryu`: see `aldis_ryu.command`."""

import sys

from aldis_ryu.command import main

if __name__ == "__main__":
    sys.exit(main())
