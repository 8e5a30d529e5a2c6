#!/usr/bin/env python3
"""torch as the judge of `modeldoctor fix` on exported programs, and the real next step: lowering or conversion.

    judge_pt2.py PROGRAM SOURCE executorch|litert-torch

For every SOURCE/fixtures/*/before.pt2 of that family (LTC rules: litert-torch, ETX and TRT rules: executorch): run `fix` with
compile.log, and with --target alone. When the program says that nothing remains (exit 0), the written archive must load with
torch.export.load, run on the inputs that it holds, give what the original gives, and pass the step that failed: the backend's
partitioner and to_executorch, or litert_torch.convert. Then the snippets of the rules' pages ("Save, fix, lower", "Save, fix,
convert") are run as they are printed. A fixture folder may hold judge.json: {"skip": "why"}.

Exit codes: 0 all agree, 1 something does not, 77 not run (the reason is printed).
"""
import contextlib
import importlib
import io
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402

FAMILIES = {"executorch": ("ETX", "TRT"), "litert-torch": ("LTC",)}
MODULES = {"executorch": "executorch", "litert-torch": "litert_torch"}
TOLERANCE, BFLOAT16_TOLERANCE = 1e-4, 2e-2

# Rule -> the partitioner (module, class) whose lowering failed. Other rules: to_edge and to_executorch, where those can hold
# the program at all.
PARTITIONERS = {
    "ETX009": ("executorch.backends.apple.coreml.partition", "CoreMLPartitioner"),
    "ETX010": ("executorch.backends.apple.coreml.partition", "CoreMLPartitioner"),
    "ETX011": ("executorch.backends.vulkan.partitioner.vulkan_partitioner", "VulkanPartitioner"),
    "ETX014": ("executorch.backends.xnnpack.partition.xnnpack_partitioner", "XnnpackPartitioner"),
    "ETX018": ("executorch.backends.xnnpack.partition.xnnpack_partitioner", "XnnpackPartitioner"),
}
PLAIN_EDGE = ("ETX001", "ETX004", "ETX005", "ETX012", "ETX016", "ETX020")
TARGETS = {"ETX001": "executorch-cuda", "ETX003": "executorch-qnn", "ETX004": "executorch-cuda", "ETX005": "executorch-cuda",
           "ETX007": "executorch-mlx", "ETX008": "executorch-mlx", "ETX009": "executorch-coreml", "ETX010": "executorch-coreml",
           "ETX011": "executorch-vulkan", "ETX012": "executorch-tosa", "ETX013": "executorch-neutron",
           "ETX014": "executorch-xnnpack", "ETX018": "executorch-xnnpack", "ETX019": "executorch-qnn",
           "ETX020": "executorch-cortex-m", "ETX021": "executorch-tosa", "ETX022": "executorch-mlx",
           "LTC001": "litert-torch@0.9.0"}


def target_of(rule):
    default = "torch-tensorrt" if rule.startswith("TRT") else "litert-torch" if rule.startswith("LTC") else "executorch"
    return TARGETS.get(rule, default)


def module_of(program):
    return program.module(check_guards=False)


def tensors(tree):
    import torch
    return [t for t in torch.utils._pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def inputs_of(program):
    """The inputs that the archive holds, in the types that the program takes now."""
    import torch
    held = program.example_inputs[0] if program.example_inputs else ()
    wanted = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder" and n.name in program.graph_signature.user_inputs]
    leaves, spec = torch.utils._pytree.tree_flatten(held)
    if len(leaves) == len(wanted):
        leaves = [x.to(w.dtype) if isinstance(x, torch.Tensor) and isinstance(w, torch.Tensor) else x for x, w in zip(leaves, wanted)]
    leaves = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    return torch.utils._pytree.tree_unflatten(leaves, spec)


def difference(original, fixed):
    """The complaint, or nothing. Buffers that are written make the second run another one: both are compared."""
    import torch
    before, after = torch.export.load(original), torch.export.load(fixed)
    narrow = any(t.dtype == torch.bfloat16 for t in [*before.state_dict.values(), *before.constants.values()] if isinstance(t, torch.Tensor))
    narrow = narrow or any(getattr(n.meta.get("val"), "dtype", None) == torch.bfloat16 for n in before.graph.nodes)
    run_a, run_b = module_of(before), module_of(after)
    for turn in ("first", "second"):
        want, got = tensors(run_a(*inputs_of(before))), tensors(run_b(*inputs_of(after)))
        if len(want) != len(got):
            return f"{len(got)} outputs, the original has {len(want)}"
        for k, (w, g) in enumerate(zip(want, got)):
            if w.shape != g.shape:
                return f"output {k} has shape {tuple(g.shape)}, the original {tuple(w.shape)}"
            w, g = w.detach().to(torch.complex128), g.detach().to(torch.complex128)
            if not torch.equal(w.isfinite(), g.isfinite()):
                return f"output {k} is not finite in other places"
            w, g = w[w.isfinite()], g[g.isfinite()]
            if not w.numel():
                continue
            worst = float((w - g).abs().max()) / max(float(w.abs().max()), 1e-6)
            if worst > (BFLOAT16_TOLERANCE if narrow else TOLERANCE):
                return f"output {k} of the {turn} run differs by {worst:.3g} of the largest value"
    return ""


def next_step(rule, program, scratch):
    """The step that failed, on the fixed program. False: there is none here."""
    if rule.startswith("LTC"):
        import litert_torch
        litert_torch.convert(module_of(program), tuple(inputs_of(program))).export(os.path.join(scratch, "model.tflite"))
        return True
    from executorch.exir import to_edge, to_edge_transform_and_lower
    if rule in PLAIN_EDGE:
        to_edge(program).to_executorch()
        return True
    if rule not in PARTITIONERS:
        return False
    module, name = PARTITIONERS[rule]
    partitioner = getattr(importlib.import_module(module), name)()
    to_edge_transform_and_lower(program, partitioner=[partitioner]).to_executorch()
    return True


def judge(rule, original, fixed, scratch):
    import torch
    complaint = difference(original, fixed)
    if complaint:
        return complaint
    try:
        next_step(rule, torch.export.load(fixed), scratch)
    except Exception as error:  # every converter has its own kinds
        return "the next step fails: " + str(error).replace("\n", " ")[:300]
    return ""


def quietly(call, *arguments):
    """Converters print much; it is shown when something is wrong."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            complaint = call(*arguments)
        except Exception:
            complaint = "raised: " + traceback.format_exc()[-400:]
    return complaint


def ways_to_fix(folder, rule):
    unsafe = ["--unsafe-fixes"] if (folder / "unsafe").exists() else []
    if (folder / "compile.log").exists():
        yield "log", ["--log", str(folder / "compile.log"), *unsafe]
    yield "target", ["--target", target_of(rule), *unsafe]


def snippet_of(page):
    """The indented lines of the section "Save, fix, ...": as a user copies them."""
    section = re.search(r"^## Save, fix, \w+\n+((?:    .*\n|\n)+)", page, re.MULTILINE)
    return "\n".join(line[4:] for line in section[1].splitlines()).strip() + "\n" if section else ""


def run_snippet(text, program, before, log, scratch):
    """Python lines run as Python, the modeldoctor line in a shell's place. The complaint, or nothing."""
    import torch

    class Model(torch.nn.Module):
        """The fixture's program where the user has a model."""

        def __init__(self):
            super().__init__()
            self.inner = module_of(torch.export.load(before))

        def eval(self):
            return self  # exported modules refuse it

        def forward(self, *arguments):
            return self.inner(*arguments)
    names = {"torch": torch, "model": Model(), "args": tuple(inputs_of(torch.export.load(before)))}
    if "litert_torch" in text:
        import litert_torch
        names["litert_torch"] = litert_torch
    if "to_edge" in text:
        from executorch.exir import to_edge_transform_and_lower
        names["to_edge_transform_and_lower"] = to_edge_transform_and_lower
    here = os.getcwd()
    os.chdir(scratch)
    try:
        for line in text.splitlines():
            command = re.fullmatch(r"# modeldoctor (.*)", line.strip())
            if command:
                arguments = command[1].split()
                for k, word in enumerate(arguments):
                    if arguments[k - 1] == "--log":
                        pathlib.Path(word).write_text(pathlib.Path(log).read_text())
                done = subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace")
                if done.returncode != 0:
                    return f"modeldoctor {command[1]} ends with {done.returncode}: {done.stderr[-200:]}"
            elif line.strip():
                exec(compile(line.replace("[...]", "[]"), "snippet", "exec"), names)  # "...": the user's own partitioners
    except Exception as error:
        return f"{line.strip()} -> {type(error).__name__}: {str(error)[:200]}"
    finally:
        os.chdir(here)
    return ""


def judge_snippets(program, source, family, fixtures, scratch):
    """Each different snippet is run with the fixtures of the pages that print it, until it has run through once."""
    by_text = {}
    for rule, folder in fixtures:
        for page in source.glob(f"rules/*/{rule}-*.md"):
            text = snippet_of(page.read_text())
            if text and (folder / "compile.log").exists():
                by_text.setdefault(text, []).append((rule, folder))
    bad = 0
    for text, users in by_text.items():
        if "torch_tensorrt" in text:
            print("a snippet of", users[0][0], "is not run: torch_tensorrt needs a GPU")
            continue
        complaints = []
        for rule, folder in users:
            place = tempfile.mkdtemp(dir=scratch)
            complaint = quietly(run_snippet, text, program, str(folder / "before.pt2"), str(folder / "compile.log"), place)
            if not complaint:
                print(f"the snippet of {rule}'s page: ok", flush=True)
                break
            complaints.append(f"{rule}: {complaint}")
        else:
            bad += 1
            print("a snippet runs with no fixture:\n" + text + "\n".join(complaints), flush=True)
    if not by_text:
        print("no page of", family, "prints a snippet")
    return bad + (not by_text)


def fixtures_of(source, family):
    found = []
    for before in sorted(source.glob("fixtures/*/before.pt2")):
        rule = before.parent.name.split("-")[0]
        if rule.startswith(FAMILIES[family]):
            found.append((rule, before.parent))
    return found


def main(program, source, family):
    judge_environment.enter(family, MODULES[family])
    judge_environment.enter(family, "torch")
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if family == "executorch":
        import executorch.exir  # noqa: F401
        import torchao  # noqa: F401
        from torch.ao.quantization.fx._decomposed import quantized_decomposed_lib  # noqa: F401
    program, source = os.path.abspath(program), pathlib.Path(source).resolve()
    fixtures, judged, bad = fixtures_of(source, family), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for rule, folder in fixtures:
            settings = json.loads((folder / "judge.json").read_text()) if (folder / "judge.json").exists() else {}
            if "skip" in settings:
                print(f"{folder.name}: not judged: {settings['skip']}")
                continue
            for way, arguments in ways_to_fix(folder, rule):
                fixed = os.path.join(scratch, f"{folder.name}.{way}.pt2")
                run = subprocess.run([program, "fix", str(folder / "before.pt2"), "-o", fixed, *arguments], capture_output=True, text=True, errors="replace")
                if run.returncode == 1:
                    print(f"{folder.name} ({way}): something remains, not judged")
                    continue
                complaint = quietly(judge, rule, str(folder / "before.pt2"), fixed, scratch) if run.returncode == 0 else f"exit {run.returncode}: {run.stderr[-300:]}"
                judged += 1
                bad += bool(complaint)
                print(f"{folder.name} ({way}): {complaint or 'ok'}", flush=True)
        bad += judge_snippets(program, source, family, fixtures, scratch)
    print(f"{judged} judged, {bad} wrong")
    return 1 if bad or not judged else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
