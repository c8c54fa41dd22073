"""Runs applications of Ryu unchanged, on os-ken.

Ryu's own command, `ryu-manager`, starts on no Python since 3.10. Its classes live on in os-ken,
under other names. This package has three parts:

- `names`: `import ryu.X` gives the module `os_ken.X`, the same object under both names.
- the package `ryu` beside this one: the modules of Ryu that os-ken has dropped.
- `command`: `python3 -m aldis_ryu APP.py` loads applications as `ryu-manager` does.
"""

__version__ = "0.1.0"
