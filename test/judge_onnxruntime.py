#!/usr/bin/env python3
"""ONNX Runtime's sessions as the judge of its table: which of ONNX's test models does the installed release load?

    judge_onnxruntime.py MODELDOCTOR

Every model of Debian's libonnx-testdata is opened by a session and checked for that release. A model that loads must not be
refused; of all models at least 98 of 100 must be predicted as they are. Exit codes: 0, 1, 77 not run (the reason is printed).
"""
import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402

TESTDATA = "/usr/share/libonnx-testdata/data"


def said(runtime, path):
    try:
        runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return ""
    except Exception as error:
        return str(error)


def main():
    judge_environment.enter("onnx", "onnxruntime")
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    models = sorted(glob.glob(TESTDATA + "/**/*.onnx", recursive=True))
    if not models:
        judge_environment.skip("no models in " + TESTDATA + ": scripts/setup.sh --judges installs libonnx-testdata")
    target = "onnxruntime@" + onnxruntime.__version__
    checked = subprocess.run([sys.argv[1], "check", *models, "--target", target, "--output-format", "json", "--fail-on", "never"],
                             capture_output=True, text=True, check=False)
    runs = {run["model"]["path"]: run for run in json.loads(checked.stdout)["runs"]}
    right, refused, missed = 0, [], []
    for path in models:
        text = said(onnxruntime, path)
        prediction = runs[path]["prediction"] or {"verdict": "none", "records": []}
        name = os.path.relpath(path, TESTDATA)
        if (prediction["verdict"] == "compiles") == (text == ""):
            right += 1
        elif text == "":
            refused.append(f"{name}: {prediction['records'][0]['text'] if prediction['records'] else prediction['verdict']}")
        else:
            missed.append(f"{name}: {text[-160:]}")
    print(f"{target}: {right} of {len(models)} predicted as they are; {len(refused)} refused that load, {len(missed)} taken that do not")
    for line in refused:
        print("refused, and loads:", line)
    for line in missed:
        print("taken, and does not load:", line)
    return 1 if refused or right < 0.98 * len(models) else 0


if __name__ == "__main__":
    sys.exit(main())
