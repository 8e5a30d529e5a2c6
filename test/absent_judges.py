#!/usr/bin/env python3
"""A judge whose environment is not installed is skipped, and is a failure where CI is set: nothing passes by absence."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
JUDGES = {"judge_gpu.py": ["program", "fixtures"], "judge_roundtrip.py": ["md_rewrite", os.devnull + "/none"], "verdict_table.py": ["program"],
          "judge_aten.py": ["md_evaluate"], "judge_onnx.py": ["md_evaluate"], "judge_onnxruntime.py": ["program"], "judge_pt2.py": ["program", str(HERE), "executorch"], "schema_check.py": []}


def run(script, arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "MD_JUDGE")}
    # -S: without the packages that this Python may have.
    done = subprocess.run([sys.executable, "-S", str(HERE / script), *arguments], env=dict(kept, MD_VENVS="/no/environments", **environment),
                          capture_output=True, text=True, errors="replace", timeout=120)
    return done.returncode, done.stdout + done.stderr


bad = 0
for script, arguments in JUDGES.items():
    for environment, wanted in (({}, 77), ({"CI": "false"}, 77), ({"CI": "true"}, 1), ({"CI": "1"}, 1)):
        code, said = run(script, arguments, **environment)
        if code != wanted or "setup.sh --judges" not in said:
            bad += 1
            print(f"{script} with {environment or 'no CI'}: exit {code} instead of {wanted}: {said[-300:]}")
known = {path.name for path in HERE.glob("*.py")
         if path != pathlib.Path(__file__).resolve() and "judge_environment.enter(" in path.read_text()}
for script in sorted(known - set(JUDGES)):
    bad += 1
    print(f"{script} is not tried here")
print(f"{len(JUDGES)} judges, {bad} wrong")
sys.exit(1 if bad else 0)
