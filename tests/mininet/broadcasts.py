"""Counts the copies of broadcasts that hosts see."""

import collections
import os
import re
import subprocess
import sys

from lab import wait_until

PYTHON = sys.executable
FRAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.py")


class Listeners:
    """One at each host."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.children = {}
        self.texts = collections.defaultdict(str)
        for host in hosts:
            child = host.popen([PYTHON, FRAMES, "listen", str(host.defaultIntf())], stdout=subprocess.PIPE)
            os.set_blocking(child.stdout.fileno(), False)
            self.children[host] = child
        wait_until("every host listens", lambda: all("listening" in self.read(host) for host in hosts))

    def read(self, host):
        self.texts[host] += (self.children[host].stdout.read() or b"").decode()
        return self.texts[host]

    def send(self, host, number):
        host.cmd(f"{PYTHON} {FRAMES} send {host.defaultIntf()} {number}")

    def copies(self, host):
        """How often the host saw which broadcast."""
        return collections.Counter(int(number) for number in re.findall(r"^saw (\d+)$", self.read(host), re.MULTILINE))

    def finish(self, count):
        """Waits until every host saw all broadcasts of the others, and then one more from each; the copies that each saw."""
        for last, host in enumerate(self.hosts, count):
            self.send(host, last)
        all_sent = count + len(self.hosts)

        def wanted(place):
            own = {number for number in range(count) if number % len(self.hosts) == place} | {count + place}
            return set(range(all_sent)) - own

        for place, host in enumerate(self.hosts):
            wait_until(f"{host} sees the others' broadcasts",
                       lambda host=host, place=place: wanted(place) <= set(self.copies(host)),
                       seen=lambda host=host: self.copies(host))
        seen = {str(host): self.copies(host) for host in self.hosts}
        for child in self.children.values():
            child.kill()
            child.wait()
        return seen
