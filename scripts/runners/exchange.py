"""The folder exchange of README.md: what the runners have in common."""
import json
import os
import sys


def main(probe, run):
    """probe() -> "name version" or raises ImportError; run(request, inputs) -> (runtime, outputs) or raises Refused."""
    if len(sys.argv) != 2:
        sys.exit("usage: runner FOLDER | --probe")
    if sys.argv[1] == "--probe":
        try:
            print(json.dumps({"installed": True, "runtime": probe()}))
        except Exception as e:
            print(json.dumps({"installed": False, "hint": str(e)}))
        return
    import numpy as np

    folder = sys.argv[1]
    with open(os.path.join(folder, "request.json")) as f:
        request = json.load(f)
    inputs = [np.load(os.path.join(folder, i["file"])) for i in request["inputs"]]
    response = {"outputs": [], "error": "", "runtime": ""}
    try:
        response["runtime"], outputs = run(request, inputs)
        for n, array in enumerate(outputs):
            name = f"out_{n}.npy"
            np.save(os.path.join(folder, name), array)
            response["outputs"].append(name)
        response["status"] = "ok"
    except Refused as e:
        response.update(status="refused", error=str(e))
    except Exception as e:
        response.update(status="failed", error=f"{type(e).__name__}: {e}")
    # Written under another name first: a half-written response must not be read.
    path = os.path.join(folder, "response.json")
    with open(path + ".part", "w") as f:
        json.dump(response, f)
    os.replace(path + ".part", path)
    sys.stdout.flush()
    os._exit(0)  # some runtimes crash while they shut down; the result is already written


class Refused(Exception):
    """The runtime does not take the model."""


def version(package):
    """The installed version, or an ImportError that says what to install."""
    import importlib.metadata

    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(f"pip install {package} numpy")


def by_name(items, arrays, wanted):
    """Arrays in the order of `wanted`, found by signature name, else by name; None when a name is unknown."""
    for key in ("signature_name", "name"):
        table = {i[key]: a for i, a in zip(items, arrays) if i[key]}
        if all(w in table for w in wanted):
            return [table[w] for w in wanted]
    return None
