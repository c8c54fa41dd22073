"""Headers of TCP."""

from aldis.lib.packet.ports import tcp

__all__ = ["tcp"]
