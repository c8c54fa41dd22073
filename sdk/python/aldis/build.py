"""Compiles an application: `python -m aldis.build learning_switch.py -o learning_switch.wasm`."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ENTRY = """import {module}
import aldis.component

WitWorld = aldis.component.world({module})
"""


def contract():
    """The folder with the contract, in the package or in the repository."""
    package = pathlib.Path(__file__).resolve().parent
    folders = [package / "wit", package.parent.parent.parent / "wit"]
    return next(folder for folder in folders if folder.is_dir())


def build(source, output):
    """Compiles a module with `componentize-py`, with what lies beside it."""
    source = pathlib.Path(source).resolve()
    if source.suffix != ".py" or not source.stem.isidentifier():
        raise SystemExit(f"{source.name} is no module of Python: NAME.py is wanted")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "aldis_entry.py").write_text(ENTRY.format(module=source.stem))
        package = pathlib.Path(__file__).resolve().parent.parent
        paths = [folder, source.parent, package]
        command = ["componentize-py", "-q", "-d", contract(), "-w", "app-appending", "componentize"]
        command += [word for path in paths for word in ("-p", path)]
        command += ["aldis_entry", "-o", pathlib.Path(output).resolve()]
        # The tool of the Python that runs this, where it is in no search path.
        tools = str(pathlib.Path(sys.executable).parent) + os.pathsep
        # What is wrong with the module is said by Python; where the tool was then says nothing.
        environment = dict(
            os.environ, PATH=tools + os.environ.get("PATH", ""), RUST_BACKTRACE="0"
        )
        subprocess.run([str(word) for word in command], check=True, env=environment)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description="Compiles an application of Aldis.")
    parser.add_argument("source", help="the module with the application: NAME.py")
    parser.add_argument("-o", "--output", help="the component; NAME.wasm beside the source else")
    words = parser.parse_args()
    output = words.output or pathlib.Path(words.source).with_suffix(".wasm")
    try:
        build(words.source, output)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"componentize-py failed with status {error.returncode}") from None
    except FileNotFoundError:
        raise SystemExit("componentize-py is missing: pip install componentize-py") from None


if __name__ == "__main__":
    main()
