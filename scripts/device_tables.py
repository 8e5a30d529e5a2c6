#!/usr/bin/env python3
"""Reduces the measured operator support of NPUs and GPUs that the public package winml-cli carries (MIT) to
constraint tables: lib/runtime/{qnn,openvino,tensorrt-rtx}/NAME.constraints.json.

    pip download --no-deps winml-cli==0.4.0 && unzip winml_cli-*.whl -d FOLDER
    python scripts/device_tables.py FOLDER          # needs pyarrow and numpy

Each row of the package is one run of a one-operator model on a device: what types, ranks, constants and attributes it
had, and whether ONNX Runtime's compiler gave the whole of it to the device. An operator's rows become a small decision
tree over what can be read off a node; its leaves that stay off the device are the table's conditions.
"""
import collections
import json
import pathlib
import re
import sys

import numpy as np
import pyarrow.parquet as pq

TARGETS = {  # folder of the package: runtime's folder, target, device, provider
    "QNNExecutionProvider_NPU": ("qnn", "qnn-npu", "NPU"),
    "QNNExecutionProvider_GPU": ("qnn", "qnn-gpu", "GPU"),
    "OpenVINOExecutionProvider_NPU": ("openvino", "openvino-npu", "NPU"),
    "OpenVINOExecutionProvider_GPU": ("openvino", "openvino-gpu", "GPU"),
    "OpenVINOExecutionProvider_CPU": ("openvino", "openvino-ep-cpu", "CPU plugin"),
    "NvTensorRTRTXExecutionProvider_GPU": ("tensorrt-rtx", "tensorrt-rtx", "GPU"),
}
MOST_LEAVES, LEAST_ROWS, WANTED = 14, 6, 0.995
TYPES = {"FLOAT": "f32", "DOUBLE": "f64", "FLOAT16": "f16", "BFLOAT16": "bf16", "INT8": "i8", "INT16": "i16",
         "INT32": "i32", "INT64": "i64", "UINT8": "u8", "UINT16": "u16", "UINT32": "u32", "UINT64": "u64", "BOOL": "bool",
         "INT4": "i4", "UINT4": "u4", "STRING": "string", "COMPLEX64": "c64", "COMPLEX128": "c128"}


def decoded(text):
    cell = json.loads(text)
    return cell.get("v") if isinstance(cell, dict) else cell


def feature_of(column, op, inputs, second):
    """The condition's name of a column, or None where a node does not say it."""
    if column.endswith("_" + op):
        return "type " + column[:-len(op) - 1]
    for i in inputs:
        if column == i + "_dim":
            return "rank " + i
        if column == i + "_is_constant":
            return "constant " + i
        if column == i + "_is_none":
            return "absent " + i
    found = re.fullmatch(r"(?:attr_)?(\w+)_all_(ones|zeros)", column)
    if found and found[1] in ("strides", "dilations", "pads", "steps"):
        return {"ones": "ones ", "zeros": "zeros "}[found[2]] + found[1]
    found = re.fullmatch(r"attr_(\w+)_is_(one|zero)", column)
    if found:
        return f"is_{found[2]} {found[1]}"
    found = re.fullmatch(r"attr_(\w+)_is_none", column)
    if found:
        return "without " + found[1] if second else None
    found = re.fullmatch(r"attr_(\w+)", column)
    if found:
        return "attribute " + found[1]
    return None


def read(folder, op, files, second):
    """Distinct rows over the features, with how often each was taken and not."""
    table = collections.Counter()
    tables = []
    names = set()
    for file in files:
        schema = pq.read_schema(file).names
        inputs = {n[:-8] for n in schema if n.endswith("_is_none") and not n.startswith("attr_")}
        features = {c: f for c in schema if (f := feature_of(c, op, inputs, second))}
        names |= set(features.values())
        version = int(re.search(r"opset(\d+)", file.name)[1])
        data = pq.read_table(file)
        columns = {}
        columns["compile_run_success"] = data.column("compile_run_success").to_pylist()
        for column in features:
            encoded = data.column(column).combine_chunks().dictionary_encode()
            values = [decoded(v) for v in encoded.dictionary.to_pylist()]
            columns[column] = [values[i] for i in encoded.indices.to_pylist()]
        tables.append((version, file.stem.endswith("_qdq"), features, columns))
    names = sorted(names) + ["version", "quantized"]
    for version, quantized, features, columns in tables:
        at = {f: columns[c] for c, f in features.items()}
        rows = len(columns["compile_run_success"])
        fill = [at.get(n) or [None] * rows for n in names[:-2]]
        for i in range(rows):
            key = tuple(plain(n, f[i]) for n, f in zip(names, fill)) + (version, quantized)
            table[(key, bool(columns["compile_run_success"][i][0]))] += 1
    return names, table


def plain(name, value):
    if isinstance(value, str) and name.startswith("type "):
        return TYPES.get(value, value)
    if name.startswith("is_"):
        return bool(value)
    if isinstance(value, (list, tuple)):
        return None if not value else ",".join(map(str, value))
    return value


def questions(names, keys):
    """All tests of one feature: (text, texts when it holds, mask)."""
    out = []
    for c, name in enumerate(names):
        column = [k[c] for k in keys]
        values = sorted({v for v in column if v is not None}, key=str)
        if len(set(column)) < 2:
            continue
        kind = name.split()[0]
        if kind in ("rank", "version"):
            for v in sorted(values)[:-1]:
                out.append((f"{name} > {v}", f"{name} <= {v}", np.array([x is not None and x > v for x in column])))
        elif set(values) <= {True, False}:
            out.append((name, "not " + name, np.array([x is True for x in column])))
        else:
            for v in values:
                shown = f"{v:g}" if isinstance(v, float) else str(v)
                out.append((f"{name} = {shown}", f"{name} != {shown}", np.array([x == v for x in column])))
    return out


def impurity(yes, no):
    total = yes + no
    return 0 if total == 0 else 2 * yes * no / total


def grow(names, table):
    keys = sorted({k for k, _ in table}, key=str)
    yes = np.array([table[(k, True)] for k in keys], float)
    no = np.array([table[(k, False)] for k in keys], float)
    tests = questions(names, keys)
    masks = np.array([t[2] for t in tests]) if tests else np.zeros((0, len(keys)), bool)
    leaves = [(np.ones(len(keys), bool), [])]
    while len(leaves) < MOST_LEAVES:
        best = None
        for at, (mask, path) in enumerate(leaves):
            y, n = yes * mask, no * mask
            if min(y.sum(), n.sum()) == 0 or not len(masks):
                continue
            ty, tn = masks @ y, masks @ n
            ry, rn = y.sum() - ty, n.sum() - tn
            with np.errstate(all="ignore"):
                after = np.nan_to_num(2 * ty * tn / (ty + tn)) + np.nan_to_num(2 * ry * rn / (ry + rn))
            gain = impurity(y.sum(), n.sum()) - after
            gain[(ty + tn < LEAST_ROWS) | (ry + rn < LEAST_ROWS)] = 0
            # A tie is broken by what a reader understands first: types and ranks before attributes.
            order = np.argsort(-gain, kind="stable")[:1]
            if len(order) and gain[order[0]] > 1e-9 and (best is None or gain[order[0]] > best[0]):
                best = (gain[order[0]], at, order[0])
        if best is None:
            break
        _, at, test = best
        mask, path = leaves.pop(at)
        leaves.insert(at, (mask & ~masks[test], path + [tests[test][1]]))
        leaves.insert(at, (mask & masks[test], path + [tests[test][0]]))
        right = sum(max((yes * m).sum(), (no * m).sum()) for m, _ in leaves)
        if right / (yes.sum() + no.sum()) >= WANTED and len(leaves) >= 2:
            break
    right = sum(max((yes * m).sum(), (no * m).sum()) for m, _ in leaves)
    refused = [simplified(p) for m, p in leaves if (no * m).sum() > (yes * m).sum()]
    return right / (yes.sum() + no.sum()), refused


def simplified(path):
    """Without conditions that others of the path imply."""
    out = []
    for i, condition in enumerate(path):
        name, _, rest = condition.partition(" = ")
        implied = False
        for other in path:
            if other is condition:
                continue
            if " != " in condition and other.startswith(condition.split(" != ")[0] + " = "):
                implied = True
            for sign, better in ((" > ", lambda a, b: b > a or (b == a and False)), (" <= ", lambda a, b: b < a)):
                if sign in condition and sign in other and condition.split(sign)[0] == other.split(sign)[0]:
                    implied |= better(int(condition.split(sign)[1]), int(other.split(sign)[1]))
        if not implied:
            out.append(condition)
    return out


def main():
    folder = next(pathlib.Path(sys.argv[1]).rglob("runtime_check_rules"))
    root = pathlib.Path(__file__).parent.parent / "lib/runtime"
    total = 0
    for package, (runtime, target, device) in TARGETS.items():
        by_op = collections.defaultdict(list)
        for file in sorted((folder / package).glob("*.parquet")):
            op, _, rest = file.name.partition("_" + package)
            if op.endswith("Pattern"):
                continue
            domain = "com.microsoft." if "_com.microsoft_" in rest else ""
            by_op[(domain, op)].append(file)
        rows = {}
        below = []
        hits = count = 0
        for (domain, op), files in sorted(by_op.items()):
            for second in (False, True):
                names, table = read(folder, op, files, second)
                exact, refused = grow(names, table)
                if exact >= 0.99:
                    break
            seen = sum(table.values())
            count += seen
            hits += exact * seen
            if exact < 0.99:
                below.append(f"{domain}{op} {100 * exact:.1f} %")
            rows[domain + op] = (exact, refused)
        lines = [f'  "target": "{target}", "versions": ["0.4.0"], "formats": ["onnx"], "device": "{device}",',
                 f'  "about": "Rows of {package.replace("_", " on ")} in winml-cli 0.4.0 (PyPI, MIT), reduced by '
                 f'scripts/device_tables.py: equal to {100 * hits / count:.2f} % of {count} rows. Below 99 %: '
                 f'{", ".join(below) or "none"}.",', '  "operators": {']
        # Operators of which a tree says less than the larger half of the rows stay unsaid.
        shown = [(n, r) for n, (exact, r) in rows.items() if exact >= 0.9]
        for i, (name, refused) in enumerate(shown):
            checks = ", ".join(json.dumps({"check": "off device", "when": when}) for when in refused)
            lines.append(f'    "{name}": [{checks}]' + ("," if i + 1 < len(shown) else ""))
        path = root / runtime / f"{target}.constraints.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{\n" + "\n".join(lines) + "\n  }\n}\n")
        total += path.stat().st_size
        print(target, f"{100 * hits / count:.2f} % of {count} rows, {len(rows)} operators, {path.stat().st_size} bytes; below:",
              len(below), flush=True)
    print(total, "bytes")


if __name__ == "__main__":
    main()
