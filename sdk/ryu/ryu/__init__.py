"""Ryu's names. What is not in this package is os-ken's: see `aldis_ryu.names`."""

from aldis_ryu import names

names.install()

# The last release of Ryu, whose names these are.
version_info = (4, 34)
version = "4.34"
__version__ = version
