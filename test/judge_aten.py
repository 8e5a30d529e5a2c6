#!/usr/bin/env python3
"""torch as the judge of the evaluator's aten kernels, operator by operator.

    judge_aten.py MD_EVALUATE [OPERATOR...]

Every operator that has a kernel (MD_EVALUATE --operators) is called with the cases of aten_cases.py in torch, and in the reference
evaluator on an exported program that holds the same call. A kernel without a case fails, and so does a case that torch.export
decomposes. Exit codes: 0 all agree, 1 something does not, 77 not run (the reason is printed).
"""
import os
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402

AT_ONCE = 16  # operators in one program: most of the time is spent in torch.export
ULPS, NARROW_ULPS = 32, 2  # of the larger of the element and a quarter of the largest one: sums run in another order
EPSILON = {"float32": 2.0 ** -23, "float64": 2.0 ** -52, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "complex64": 2.0 ** -23, "complex128": 2.0 ** -52}


def operator(name):
    import torch
    namespace, base, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload)


def module_of(calls):
    """A module whose forward takes all tensors of all calls in a row, and gives all results in a row."""
    import torch

    class Calls(torch.nn.Module):
        def forward(self, *given):
            results, rest = [], list(given)

            def bind(a):
                if isinstance(a, torch.Tensor):
                    return rest.pop(0)
                return [bind(e) for e in a] if isinstance(a, list) else a
            for name, arguments, keywords in calls:
                bound = [bind(a) for a in arguments]
                base = name.split(".")[1]
                if base.endswith("_") and not base.endswith("__"):
                    bound[0] = bound[0].clone()
                out = operator(name)(*bound, **keywords)
                results.extend(out if isinstance(out, (list, tuple)) else [out])
            return tuple(r.clone() for r in results)
    return Calls()


def tensors_of(arguments):
    import torch
    for a in arguments:
        if isinstance(a, torch.Tensor):
            yield a
        elif isinstance(a, list):
            yield from tensors_of(a)


def export(calls, path):
    """Saves the program and gives its inputs and torch's results; the complaint where a call is not in it."""
    import torch
    inputs = tuple(x for _, arguments, _ in calls for x in tensors_of(arguments))
    module = module_of(calls)
    # A program takes one tensor at least.
    program = torch.export.export(module, inputs if inputs else (torch.zeros(1),))
    held = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    missing = sorted({name for name, _, _ in calls} - set(held))
    torch.export.save(program, path)
    return inputs if inputs else (torch.zeros(1),), module(*inputs), [f"{name}: torch.export leaves no such call" for name in missing]


def difference(want, got):
    import torch
    if tuple(want.shape) != tuple(got.shape):
        return f"shape {tuple(got.shape)}, torch has {tuple(want.shape)}"
    if not want.numel():
        return ""
    if not (want.is_floating_point() or want.is_complex()):
        wrong = want.to(torch.int64) != got.to(torch.int64)
        return f"{got[wrong][0].item()} for {want[wrong][0].item()} at {int(wrong.sum())} places" if wrong.any() else ""
    epsilon = EPSILON[str(want.dtype).split(".")[1]]
    ulps = NARROW_ULPS if want.dtype in (torch.float16, torch.bfloat16) else ULPS
    parts = (lambda x: torch.view_as_real(x.to(torch.complex128))) if want.is_complex() else (lambda x: x.to(torch.float64))
    want, got = parts(want), parts(got)
    finite = want.isfinite() & got.isfinite()
    same = (want == got) | (want.isnan() & got.isnan())
    scale = float(want[want.isfinite()].abs().max()) if want.isfinite().any() else 0.0
    scale = min(scale, 1e6)
    close = finite & ((want - got).abs() <= ulps * epsilon * torch.maximum(want.abs(), torch.tensor(scale / 4, dtype=torch.float64)))
    wrong = ~(same | close)
    return f"{got[wrong][0].item():.9g} for {want[wrong][0].item():.9g} at {int(wrong.sum())} of {want.numel()} places" if wrong.any() else ""


class Evaluator:
    """One process of the tool for all programs."""

    def __init__(self, tool, scratch):
        self.process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.scratch, self.turn = scratch, 0

    def run(self, model, inputs):
        """Our results, or the complaint."""
        import numpy
        import torch
        self.turn += 1
        folder = os.path.join(self.scratch, f"out{self.turn}")
        os.mkdir(folder)
        arrays = os.path.join(folder, "in.npz")
        numpy.savez(arrays, *[(x.float() if x.dtype == torch.bfloat16 else x).resolve_conj().numpy() for x in inputs])
        self.process.stdin.write(f"{model}\t{arrays}\t{folder}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        if said != "ok":
            return said or "md_evaluate ended"
        count = len([f for f in os.listdir(folder) if f.endswith(".npy")])
        return [torch.from_numpy(numpy.array(numpy.load(os.path.join(folder, f"{i}.npy")))) for i in range(count)]


def compare(names, cases, evaluator):
    """Complaints about these operators in one program; when it cannot run, each alone."""
    calls = [(name, *call) for name in names for call in cases[name]]
    path = os.path.join(evaluator.scratch, "program.pt2")
    try:
        inputs, wanted, complaints = export(calls, path)
        results = evaluator.run(path, inputs)
    except Exception as error:  # torch refuses a case
        complaints, results = [], f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    if isinstance(results, str):
        if len(names) > 1:
            return [c for name in names for c in compare([name], cases, evaluator)]
        return [f"{names[0]}: {results}"]
    owner = []
    for name, arguments, keywords in calls:
        out = operator(name)(*[[e.clone() if hasattr(e, "clone") else e for e in a] if isinstance(a, list) else a.clone() if hasattr(a, "clone") else a for a in arguments], **keywords)
        count = len(out) if isinstance(out, (list, tuple)) else 1
        owner.extend((name, arguments) for _ in range(count))
    for (name, arguments), want, got in zip(owner, wanted, results):
        complaint = difference(want, got)
        if complaint:
            shapes = ", ".join(f"{str(x.dtype)[6:]}{list(x.shape)}" for x in tensors_of(arguments))
            complaints.append(f"{name}({shapes}): {complaint}")
    if len(results) != len(wanted):
        complaints.append(f"{names}: {len(results)} results, torch gives {len(wanted)}")
    return complaints


def main():
    judge_environment.enter("executorch", "torch")
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(1)
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers quantized_decomposed)
    import aten_cases
    tool, asked = sys.argv[1], sys.argv[2:]
    listed = subprocess.run([tool, "--operators"], capture_output=True, text=True, check=True).stdout.splitlines()
    aten = sorted({line.split()[1] for line in listed if line.startswith("pt2 ")})
    complaints = []
    if not asked:
        complaints += [f"{k}: a kernel without a case" for k in aten if k not in aten_cases.CASES and k not in aten_cases.WITHOUT and k not in aten_programs()]
        complaints += [f"{k}: a case without a kernel" for k in {**aten_cases.CASES, **aten_cases.WITHOUT} if k not in aten]
    names = [k for k in aten if k in aten_cases.CASES and (not asked or k in asked)]
    with tempfile.TemporaryDirectory() as scratch, torch.no_grad():
        evaluator = Evaluator(tool, scratch)
        for first in range(0, len(names), AT_ONCE):
            complaints += compare(names[first:first + AT_ONCE], aten_cases.CASES, evaluator)
        for held, program, inputs in [] if asked else aten_programs().values_once():
            complaints += compare_program(held, program, inputs, evaluator)
    for complaint in complaints:
        print(complaint)
    calls = sum(len(aten_cases.CASES[n]) for n in names)
    print(f"{len(names)} operators with {calls} calls held to torch {torch.__version__}, {len(aten_cases.WITHOUT)} without numbers: {len(complaints)} complaints")
    return 1 if complaints else 0


class Programs(dict):
    def values_once(self):
        return {id(v): v for v in self.values()}.values()


def aten_programs():
    """Operators that only a whole program holds: symbols, conditions."""
    import torch

    class Symbols(torch.nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return x.reshape(n * 2, (12 - 8) // 2), x.new_zeros(n + 1), x.new_zeros(2 * n - 1), x.new_zeros((n * 5) // 3 + 2), x.new_zeros(n % 3 + 2)

    class Branch(torch.nn.Module):
        def forward(self, x, y):
            return (torch.cond(x.sum() > 0, lambda a, b: a + b, lambda a, b: a * b, (x, y)),)

    class Item(torch.nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k <= 9)
            return (x.new_ones(9).narrow(0, 0, 4) + k,)
    size = torch.export.Dim("n", min=4, max=60)
    held = Programs()
    symbols = (["aten.sym_size.int", "_operator.mul", "_operator.add", "_operator.sub", "_operator.floordiv", "_operator.mod"],
               lambda: torch.export.export(Symbols(), (torch.arange(20.0).reshape(5, 4),), dynamic_shapes=({0: size},)), (torch.arange(28.0).reshape(7, 4),))
    branches = [(["higher_order.cond"], lambda: torch.export.export(Branch(), (torch.ones(3), torch.ones(3))), (sign * torch.arange(1.0, 4.0), torch.arange(2.0, 5.0))) for sign in (1, -1)]
    item = (["aten.item.default", "_operator.ge", "_operator.le"], lambda: torch.export.export(Item(), (torch.ones(9), torch.tensor(3))), (torch.ones(9), torch.tensor(5)))
    for program in (symbols, *branches, item):
        for name in program[0]:
            held[name + "#2" if name in held else name] = program
    for name in ("eq", "ne", "lt", "gt"):  # only in asserts, by the same kernel
        held["_operator." + name] = item
    return held


def compare_program(names, make, inputs, evaluator):
    import torch
    path = os.path.join(evaluator.scratch, "whole.pt2")
    program = make()
    torch.export.save(program, path)
    held = {str(n.target) if not callable(n.target) or hasattr(n.target, "_schema") else f"{n.target.__module__}.{n.target.__name__}" for n in program.graph.nodes if n.op == "call_function"}
    results = evaluator.run(path, inputs)
    if isinstance(results, str):
        return [f"{names}: {results}"]
    wanted = program.module(check_guards=False)(*inputs)
    return [f"{names}: result {k}: {c}" for k, (w, g) in enumerate(zip(wanted, results)) if (c := difference(w, g))] + (
        [] if held else [f"{names}: an empty program"])


if __name__ == "__main__":
    sys.exit(main())
