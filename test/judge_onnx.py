#!/usr/bin/env python3
"""ONNX's own backend tests as the judge of the evaluator's kernels and of inference, operator by operator.

    judge_onnx.py MD_EVALUATE [NAME...]

Every node test of the installed onnx package, and every test of Debian's libonnx-testdata where that is installed, is evaluated on
its inputs and compared with its outputs, with the tolerance that ONNX gives. What is not evaluated is listed in NOT_EVALUATED with
the reason. Then the types of all values, taken out of the files, must follow again as onnx.shape_inference finds them.
Exit codes: 0 all agree, 1 something does not, 77 not run (the reason is printed).
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402

TESTDATA = "/usr/share/libonnx-testdata/data"
# Patterns of names, and why the evaluator gives no result for them.
NOT_EVALUATED = [
    (r"sequence|optional|_seq|split_to|identity_opt|loop16|loop13|if_opt|if_seq", "values that are no tensors"),
    (r"string|STRING|strnorm|tfidf|regex|label_encoder_string|equal_.*_str", "texts"),
    (r"bernoulli|randomnormal|randomuniform|multinomial|training_dropout|dropout_.*mask", "random numbers"),
    (r"image_decoder", "compressed images"),
    (r"flexattention", "operators of previews"),
    (r"test_scan_sum$", "Scan of opset 8, with sequences of several lengths"),
    (r"ai_onnx_ml|adagrad|adam|momentum|nesterov|gradient", "operators of ai.onnx.ml and of training"),
]


def plain(array):
    """NumPy's own types: what it lacks is widened."""
    import numpy
    array = numpy.asarray(array)
    name = array.dtype.name
    if name in ("bfloat16", "float16") or name.startswith(("float8", "float4", "float6")):
        return array.astype(numpy.float32)
    if name.startswith(("int4", "int2")):
        return array.astype(numpy.int8)
    if name.startswith(("uint4", "uint2")):
        return array.astype(numpy.uint8)
    return array


def from_tensor(tensor, value):
    """(array, digits of its element type in binary); old test data has bfloat16 as the integers of its codes."""
    import numpy
    import onnx
    array = numpy.asarray(onnx.numpy_helper.to_array(tensor) if isinstance(tensor, onnx.TensorProto) else tensor)
    kind = value.type.tensor_type.elem_type
    if kind == onnx.TensorProto.BFLOAT16 and array.dtype == numpy.uint16:
        return (array.astype(numpy.uint32) << 16).view(numpy.float32), 8
    return plain(array), {onnx.TensorProto.FLOAT16: 11, onnx.TensorProto.BFLOAT16: 8, onnx.TensorProto.DOUBLE: 53}.get(kind, 24)


class Case:
    def __init__(self, name, model, sets, rtol, atol):
        self.name, self.model, self.sets, self.rtol, self.atol = name, model, sets, rtol, atol


def package_cases():
    from onnx.backend.test.loader import load_node_model_tests
    for case in load_node_model_tests():
        if case.model is not None and case.data_sets:
            yield Case(f"onnx/{case.name}", case.model, case.data_sets, case.rtol, case.atol)


def debian_cases():
    import glob

    import onnx
    for path in sorted(glob.glob(f"{TESTDATA}/*/*/model.onnx")):
        folder = os.path.dirname(path)
        model, sets = onnx.load(path), []
        for data in sorted(glob.glob(f"{folder}/test_data_set_*")):
            def read(kind, values):
                arrays = []
                for i, value in enumerate(values):
                    file = f"{data}/{kind}_{i}.pb"
                    if not os.path.exists(file) or not value.type.HasField("tensor_type"):
                        return None
                    tensor = onnx.TensorProto()
                    tensor.ParseFromString(open(file, "rb").read())
                    arrays.append(tensor)
                return arrays
            known = {i.name for i in model.graph.initializer}
            sets.append((read("input", [i for i in model.graph.input if i.name not in known]), read("output", model.graph.output)))
        kind = os.path.basename(os.path.dirname(folder))
        yield Case(f"debian/{kind}/{os.path.basename(folder)}", model, sets, 1e-3, 1e-7)


class Tool:
    """One process of the tool for all models."""

    def __init__(self, tool, scratch):
        self.process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.scratch, self.turn = scratch, 0

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def save(self, model):
        self.turn += 1
        path = os.path.join(self.scratch, f"{self.turn}.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return path

    def evaluate(self, path, inputs):
        import numpy
        folder = path + ".out"
        os.makedirs(folder, exist_ok=True)
        arrays = os.path.join(folder, "in.npz")
        numpy.savez(arrays, *inputs)
        said = self.ask(f"{path}\t{arrays}\t{folder}")
        if said != "ok":
            return said or "md_evaluate ended"
        count = len([f for f in os.listdir(folder) if f.endswith(".npy")])
        try:
            return [numpy.load(os.path.join(folder, f"{i}.npy")) for i in range(count)]
        except ValueError as error:
            return str(error)


def difference(want, digits, got, rtol, atol):
    """Sums run in another order: the last two digits of an element type may differ, of the largest element's too."""
    import numpy
    if want.dtype.kind == "f":
        finite = numpy.abs(want[numpy.isfinite(want)].astype(numpy.float64))
        rtol, atol = max(rtol, 2.0 ** (2 - digits)), max(atol, 2.0 ** (1 - digits) * min(float(finite.max()) if finite.size else 0, 1e6))
    if want.shape != got.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "iub" and got.dtype.kind in "iub":
        wrong = want.astype(numpy.int64) != got.astype(numpy.int64)
    else:
        wide = numpy.complex128 if want.dtype.kind == "c" else numpy.float64
        wrong = ~numpy.isclose(got.astype(wide), want.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return ""
    return f"{got[wrong].flat[0]} for {want[wrong].flat[0]} at {int(wrong.sum())} of {want.size} places"


def judge(case, tool, path):
    """The complaint, or ""."""
    for inputs, outputs in case.sets:
        if inputs is None or outputs is None:
            return "values that are no tensors"
        try:
            known = {i.name for i in case.model.graph.initializer}
            given = [from_tensor(t, v)[0] for t, v in zip(inputs, [v for v in case.model.graph.input if v.name not in known])]
            wanted = [from_tensor(t, v) for t, v in zip(outputs, case.model.graph.output)]
        except Exception as error:
            return f"values that are no tensors: {error}"
        if any(a.dtype.kind in "OUS" for a in given + [w for w, _ in wanted]):
            return "values that are no tensors of numbers"
        results = tool.evaluate(path, given)
        if isinstance(results, str):
            return results
        if len(results) != len(wanted):
            return f"{len(results)} results, expected {len(wanted)}"
        for (want, digits), got in zip(wanted, results):
            complaint = difference(want, digits, got, case.rtol, case.atol)
            if complaint:
                return complaint
    return ""


def bare(model):
    """The model without the types that inference must find."""
    import onnx
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        output.ClearField("type")
    return copy


def types_of(model):
    """name -> (element type, dimensions or None) of what onnx.shape_inference finds."""
    import onnx
    found = {}
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    for value in [*inferred.graph.value_info, *inferred.graph.output]:
        if not value.type.HasField("tensor_type"):
            continue
        tensor = value.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim] if tensor.HasField("shape") else None
        found[value.name] = (tensor.elem_type, dims)
    return found


def judge_types(case, tool):
    """(wrong, unknown to us): complaints."""
    model = bare(case.model)
    try:
        expected = types_of(model)
    except Exception:
        return [], []
    said = tool.ask(f"types\t{tool.save(model)}")
    wrong, less = [], []
    if not said.startswith("types"):
        return ([f"{case.name}: {said}"], []) if expected else ([], [])
    ours = {}
    for entry in said.split("\t")[1:]:
        name, kind, dims = entry.rsplit("|", 2)
        ours[name] = (int(kind), None if dims == "?" else [int(d) for d in dims.split(",") if d])
    for name, (kind, dims) in expected.items():
        if kind == 0:
            continue
        own = ours.get(name, (0, None))
        if own[0] == 0 or (dims is not None and own[1] is None):
            less.append(f"{case.name}: {name} is {kind} {dims}, not known here")
        elif own[0] != kind or (dims is not None and (len(dims) != len(own[1]) or any(a != b and a >= 0 and b >= 0 for a, b in zip(dims, own[1])))):
            wrong.append(f"{case.name}: {name} is {kind} {dims}, not {own[0]} {own[1]}")
        elif dims is not None and any(a >= 0 and b < 0 for a, b in zip(dims, own[1])):
            less.append(f"{case.name}: {name} is {kind} {dims}, {own[1]} here")
    return wrong, less


def main():
    judge_environment.enter("onnx", "onnx")
    warnings.filterwarnings("ignore")
    if not os.path.isdir(TESTDATA):
        judge_environment.skip("no libonnx-testdata: scripts/setup.sh --judges installs it")
    names = sys.argv[2:]
    complaints, counts, skipped, wrong, less = [], collections.Counter(), collections.Counter(), [], []
    with tempfile.TemporaryDirectory() as scratch:
        tool = Tool(sys.argv[1], scratch)
        for source in (package_cases(), debian_cases()):
            for case in source:
                if names and not any(n in case.name for n in names):
                    continue
                counts["all"] += 1
                path = tool.save(case.model)
                complaint = judge(case, tool, path)
                reason = next((why for pattern, why in NOT_EVALUATED if re.search(pattern, case.name)), None)
                if not complaint:
                    counts["passed"] += 1
                elif reason:
                    skipped[reason] += 1
                else:
                    complaints.append(f"{case.name}: {complaint}")
                w, l = judge_types(case, tool)
                wrong += w
                less += l
                counts["types"] += not w and not l
                if tool.process.poll() is not None:
                    complaints.append(f"{case.name}: md_evaluate ended")
                    tool = Tool(sys.argv[1], scratch)
                for root, _, files in os.walk(scratch, topdown=False):
                    for file in files:
                        os.remove(os.path.join(root, file))
    for line in [*complaints, *wrong, *(less if names or os.environ.get("MD_VERBOSE") else [])]:
        print(line[:300])
    print(f"{counts['passed']} of {counts['all']} backend tests pass; not evaluated: " + (", ".join(f"{n} with {why}" for why, n in skipped.items()) or "none"))
    print(f"types of {counts['types']} models as onnx.shape_inference has them; {len(less)} values are known less, {len(wrong)} otherwise")
    sys.exit(1 if complaints or wrong else 0)


if __name__ == "__main__":
    main()
