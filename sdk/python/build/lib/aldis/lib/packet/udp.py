"""Headers of UDP."""

from aldis.lib.packet.ports import udp

__all__ = ["udp"]
