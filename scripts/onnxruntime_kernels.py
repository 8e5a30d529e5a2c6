#!/usr/bin/env python3
"""Writes lib/runtime/onnxruntime/kernels.json: what ONNX Runtime's CPU provider has kernels for, by operator,
version of the operator and element types, as the runtime's own registry says; and for operators that it has none
for but computes by their definition as a function, what its sessions said of one-node models.

    scripts/onnxruntime_kernels.py 1.16.3=PYTHON 1.20.1=PYTHON 1.32.0=~/.cache/modeldoctor/onnx/bin/python

PYTHON: the interpreter of an environment with that onnxruntime. The newest must have the package onnx too.
The form of the file: lib/runtime/onnxruntime/README.md.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

from onnx_operators import LETTERS

REGISTRY = r"""
import json, sys
from onnxruntime.capi import onnxruntime_pybind11_state as s
json.dump([[k.domain, k.op_name, list(k.version_range), {a: sorted(b) for a, b in k.type_constraints.items()}]
           for k in s.get_all_opkernel_def() if k.provider == "CPUExecutionProvider"], sys.stdout)
"""
SESSIONS = r"""
import json, sys
import onnxruntime as ort
options = ort.SessionOptions()
options.log_severity_level = 4
options.intra_op_num_threads = options.inter_op_num_threads = 1
for line in sys.stdin:
    try:
        ort.InferenceSession(bytes.fromhex(line.strip()), options, providers=["CPUExecutionProvider"])
        print(json.dumps(""), flush=True)
    except Exception as e:
        print(json.dumps(str(e)), flush=True)
"""


def letters(types):
    """Letters of the element types; "v" where a type is no tensor."""
    found = set()
    for text in types:
        inner = re.fullmatch(r"tensor\((\w+)\)", text)
        if inner and inner[1] in LETTERS:
            found.add(LETTERS[inner[1]])
        elif not inner:
            found.add("v")
    return "".join(sorted(found))


def kernels_of(python):
    text = subprocess.run([python, "-c", REGISTRY], check=True, capture_output=True, text=True).stdout
    table = collections.defaultdict(set)
    for domain, name, (first, last), constraints in json.loads(text):
        if domain == "com.microsoft.nchwc":  # made by the optimizer, in no file
            continue
        types = tuple(sorted((variable, letters(allowed)) for variable, allowed in constraints.items()))
        table[(f"{domain}." if domain else "") + name].add((first, last, types))
    return {name: merged(rows) for name, rows in table.items()}


def merged(rows):
    """Rows of one operator that differ in the types of one variable become one row."""
    rows = set(rows)
    changed = True
    while changed:
        changed = False
        groups = collections.defaultdict(list)
        for row in rows:
            for i in range(len(row[2])):
                groups[(row[:2], row[2][:i], row[2][i][0], row[2][i + 1:])].append(row)
        for (span, before, variable, after), members in groups.items():
            if len(members) < 2:
                continue
            i = len(before)
            union = "".join(sorted(set("".join(m[2][i][1] for m in members))))
            rows -= set(members)
            rows.add((*span, before + ((variable, union),) + after))
            changed = True
            break
    return sorted(rows)


def text_of(row):
    first, last, types = row
    span = f"{first}" if last >= 2**31 - 1 else f"{first}-" if last == first and False else f"{first}-{last}"
    # "13" holds for version 13 only, "7-12" for all of these: an open range ends where the next version begins.
    return " ".join([span] + [f"{variable}={allowed}" for variable, allowed in types])


def main():
    environments = dict(a.split("=", 1) for a in sys.argv[1:])
    versions = sorted(environments, key=lambda v: [int(p) for p in v.split(".")])
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    for version in versions:
        for name, kernels in kernels_of(environments[version]).items():
            for row in kernels:
                rows[name][text_of(row)].append(version)
    out = {"about": "Kernels of ONNX Runtime's CPU provider, from the registries of the packages; "
                    "scripts/onnxruntime_kernels.py", "versions": versions, "kernels": {}}
    for name in sorted(rows):
        lines = []
        for text, where in sorted(rows[name].items()):
            marks = "" if where == versions else "".join(str(versions.index(v)) for v in where) + ":"
            lines.append(marks + text)
        out["kernels"][name] = lines
    functions = functions_of(environments, versions, rows)
    path = pathlib.Path(__file__).parent.parent / "lib/runtime/onnxruntime/kernels.json"
    dump = ["{", f' "about": {json.dumps(out["about"])},', f' "versions": {json.dumps(versions)},', ' "kernels": {']
    dump += [f"  {json.dumps(n)}: {json.dumps(l)}" + ("," if i + 1 < len(rows) else "")
             for i, (n, l) in enumerate(out["kernels"].items())]
    dump += [" },", ' "functions": {']
    dump += [f"  {json.dumps(n)}: {json.dumps(l)}" + ("," if i + 1 < len(functions) else "")
             for i, (n, l) in enumerate(sorted(functions.items()))]
    dump += [" }", "}"]
    path.write_text("\n".join(dump) + "\n")
    print(path, path.stat().st_size, len(rows))


if __name__ == "__main__":
    main()
