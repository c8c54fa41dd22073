"""Runs the tests of this folder: `python sdk/ryu/tests/run.py [PART OF A TEST'S NAME]…`.

They need the package and what it depends on, the command `aldis` (target/debug/aldis, or what
`ALDIS` names), and root and Open vSwitch for the samples that are tried on it.
"""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def flat(suite):
    """Every test of a suite of suites."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main():
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    found = flat(unittest.defaultTestLoader.discover(str(HERE)))
    parts = sys.argv[1:]
    chosen = [test for test in found if not parts or any(part in test.id() for part in parts)]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(chosen))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = max(0, result.testsRun - failed - len(result.skipped))
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(0 if passed and not failed else 1)


if __name__ == "__main__":
    main()
