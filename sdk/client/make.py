"""Makes the package: `python sdk/client/make.py FOLDER`.

FOLDER is then what pip can install. The client in it is generated from `openapi/aldis.json`, as far as that describes
the interface of Aldis itself and answers in JSON; `events.py`, which follows events, stands beside.
"""

import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "openapi" / "aldis.json"

# Files of the package besides the generated ones, and where they go.
BESIDE = {"pyproject.toml": ".", "README.md": ".", "events.py": "aldis_client"}


def is_ours(path, operation):
    """Whether it is called through this client: no interface of another controller, no page, no stream."""
    kinds = set(operation["responses"].get("200", {}).get("content", {}))
    return path.startswith("/api/v1/") and not kinds - {"application/json"} and not path.endswith("/ws")


def document():
    """The description of what the client calls."""
    described = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    chosen = {}
    for path, item in described["paths"].items():
        operations = {method: one for method, one in item.items() if is_ours(path, one)}
        if operations:
            chosen[path] = operations
    return {**described, "paths": chosen}


def make(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = folder / "openapi.json"
    source.write_text(json.dumps(document()), encoding="utf-8")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    options = {"--path": source, "--config": HERE / "generator.yml", "--output-path": folder / "aldis_client"}
    for option in options.items():
        command += map(str, option)
    subprocess.run(command, check=True)
    (folder / "aldis_client" / "py.typed").write_text("", encoding="utf-8")
    for name, place in BESIDE.items():
        shutil.copy(HERE / name, folder / place)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    make(pathlib.Path(sys.argv[1]))
