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

import onnx

import onnx_one_node
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


LIMITS = {"1.16.3": (19, 9), "1.20.1": (21, 10), "1.32.0": (28, 14)}  # newest opset and ir_version of a release
NO_KERNEL = re.compile(r"(?:Could not find an implementation for|Failed to find kernel for) (\w+)\((\d+)\)")


def sessions_of(python, models):
    """What a session of this environment says of each model: "" where it is made."""
    lines = "\n".join(m.SerializeToString().hex() for m in models) + "\n"
    ran = subprocess.run([python, "-c", SESSIONS], input=lines, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def has_kernel(rows, name, version, mark):
    for text, where in rows[name].items():
        first, _, last = text.split(" ")[0].partition("-")
        if mark in where and int(first) <= version <= int(last or first):
            return True
    return False


def functions_of(environments, versions, rows):
    """Operators without a kernel of their own type that sessions take all the same, as functions of others."""
    lines = collections.defaultdict(lambda: collections.defaultdict(list))
    for release in versions:
        opset, ir = LIMITS[release]
        made = list(onnx_one_node.models(opset, ir))
        said = sessions_of(environments[release], [m[4] for m in made])
        refused, taken = collections.defaultdict(dict), collections.defaultdict(set)
        for (name, version, letter, _, _), text in zip(made, said):
            missing = NO_KERNEL.search(text)
            if not text:
                taken[(name, version)].add(letter)
            elif missing and missing[1] != name:
                refused[(name, version)][letter] = f"{missing[1]}({missing[2]})"
        schemas = {(s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""}
        for key in sorted(schemas):
            name, version = key
            schema = schemas[key]
            is_function = schema.has_function or schema.has_context_dependent_function
            if not is_function or version > opset or not (key in taken or key in refused):
                continue
            # Where every type that loads has a kernel the runtime's schema may have no function: nothing is said.
            if not refused[key] and has_kernel(rows, name, version, release):
                continue
            text = " ".join([str(version)] + [f"{l}>{i}" for l, i in sorted(refused[key].items()) if l not in taken[key]])
            lines[name][text].append(release)
    out = {}
    for name, texts in lines.items():
        out[name] = [("" if where == versions else "".join(str(versions.index(v)) for v in where) + ":") + text
                     for text, where in sorted(texts.items())]
    return out


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
    functions.setdefault("SequenceMap", ["17"])  # its body is a graph, which models of one node do not have
    path = pathlib.Path(__file__).parent.parent / "lib/runtime/onnxruntime/kernels.json"
    dump = ["{", f' "about": {json.dumps(out["about"])},', f' "versions": {json.dumps(versions)},', ' "kernels": {']
    dump += [f"  {json.dumps(n)}: {json.dumps(l)}" + ("," if i + 1 < len(out["kernels"]) else "")
             for i, (n, l) in enumerate(out["kernels"].items())]
    dump += [" },", ' "functions": {']
    dump += [f"  {json.dumps(n)}: {json.dumps(l)}" + ("," if i + 1 < len(functions) else "")
             for i, (n, l) in enumerate(sorted(functions.items()))]
    dump += [" }", "}"]
    path.write_text("\n".join(dump) + "\n")
    print(path, path.stat().st_size, len(rows))


if __name__ == "__main__":
    main()
