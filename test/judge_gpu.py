#!/usr/bin/env python3
"""The real LiteRT GPU accelerator as the judge of `modeldoctor fix`, on a software Vulkan driver.

    judge_gpu.py PROGRAM FIXTURES

For every FIXTURES/*/before.tflite: run `fix` (with compile.log when the folder has one, and again with --target alone). When the
program says that nothing remains (exit 0), the accelerator must compile the written model fully, its result must agree with the CPU
result of the original, and so must the CPU result of the written model. A fixture folder may hold judge.json: {"skip": "why"} when
the accelerator's own fault or a missing feature keeps it from judging, {"target": "litert-gpu@2.1.5"} for faults of older runtimes
(then only the CPU is asked: the wheel here is the newest).

Exit codes: 0 all agree, 1 something does not, 77 not run (the reason is printed).
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402
import judge_models  # noqa: E402

NEWEST = "litert-gpu@2.3.0"
CHILD_SECONDS = 300


def random_inputs(details):
    import numpy as np
    inputs = {}
    for position, (name, detail) in enumerate(sorted(details.items())):
        rng = np.random.default_rng(100 + position)
        shape = [int(d) for d in detail["shape"]]
        if np.issubdtype(detail["dtype"], np.floating):
            inputs[name] = rng.standard_normal(shape).astype(detail["dtype"])
        elif detail["dtype"] == np.bool_:
            inputs[name] = rng.random(shape) < 0.5
        else:
            inputs[name] = rng.integers(0, 4, shape).astype(detail["dtype"])
    return inputs


def run_cpu(path, inputs=None):
    """Inputs and outputs by signature name, or by position where the file has no signature."""
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(path, num_threads=1)
    if interpreter.get_signature_list():
        runner = interpreter.get_signature_runner()
        inputs = inputs or random_inputs(runner.get_input_details())
        return inputs, runner(**inputs)
    interpreter.allocate_tensors()
    details = {f"input{i}": d for i, d in enumerate(interpreter.get_input_details())}
    inputs = inputs or random_inputs(details)
    for name, detail in details.items():
        interpreter.set_tensor(detail["index"], inputs[name])
    interpreter.invoke()
    return inputs, {f"output{i}": interpreter.get_tensor(d["index"]) for i, d in enumerate(interpreter.get_output_details())}


def run_gpu(path, inputs, like):
    """Outputs of the accelerator alone; raises when it refuses the model."""
    import numpy as np
    from ai_edge_litert.compiled_model import CompiledModel
    from ai_edge_litert.gpu_options import GpuOptions
    from ai_edge_litert.hardware_accelerator import HardwareAccelerator
    from ai_edge_litert.options import Options
    options = Options(hardware_accelerators=HardwareAccelerator.GPU, gpu_options=GpuOptions(enforce_f32=True))
    model = CompiledModel.from_file(path, options=options)
    if not model.is_fully_accelerated():
        raise RuntimeError("not fully accelerated")
    signatures = list(model.get_signature_list().values())
    names = signatures[0] if signatures else {"inputs": []}
    if set(names["inputs"]) != set(inputs):
        names = {"inputs": list(inputs), "outputs": list(like)}
    buffers_in, buffers_out = model.create_input_buffers(0), model.create_output_buffers(0)
    for name, buffer in zip(names["inputs"], buffers_in):
        buffer.write(inputs[name])
    model.run_by_index(0, buffers_in, buffers_out)
    return {name: np.asarray(buffer.read(like[name].size, like[name].dtype.type)).reshape(like[name].shape)
            for name, buffer in zip(names["outputs"], buffers_out)}


def difference(got, want, tolerance):
    import numpy as np
    for name, reference in want.items():
        if name not in got:
            return f"output {name} is missing"
        a, b = got[name].astype(np.float64).ravel(), reference.astype(np.float64).ravel()
        if a.shape != b.shape:
            return f"output {name} has {a.size} elements, expected {b.size}"
        finite = np.isfinite(b)
        if not np.array_equal(np.isfinite(a), finite):
            return f"output {name} is not finite in other places"
        if not finite.any():
            continue
        worst, scale = np.max(np.abs(a[finite] - b[finite])), np.max(np.abs(b[finite]))
        if worst > max(judge_models.FLOOR, tolerance * scale):
            return f"output {name} differs by {worst:.3g} of {scale:.3g}"
    return ""


def judge(original, fixed, with_gpu):
    """The complaint about one model in this process, or nothing. What is compared with what, and how closely, follows from the
    kind of the original (judge_models.py)."""
    kind = judge_models.kind(original)
    tolerance = judge_models.TOLERANCE[kind]
    with tempfile.TemporaryDirectory() as scratch:
        reference, fixed_on_cpu = original, fixed
        if kind == "dyn8":
            reference, fixed_on_cpu = os.path.join(scratch, "reference.tflite"), os.path.join(scratch, "fixed.tflite")
            judge_models.in_float(original, reference)
            judge_models.in_float(fixed, fixed_on_cpu)
        try:
            inputs, want = run_cpu(reference)
        except ValueError as error:
            # No kernel reads the original, so the written model's own CPU result is what the accelerator is held to.
            if "Didn't find op" not in str(error):
                raise
            inputs, want = run_cpu(fixed_on_cpu)
        _, on_cpu = run_cpu(fixed_on_cpu, inputs)
    complaint = difference(on_cpu, want, tolerance)
    if complaint:
        return "CPU: " + complaint
    if not with_gpu:
        return ""
    try:
        on_gpu = run_gpu(fixed, inputs, want)
    except Exception as error:  # the binding raises plain RuntimeErrors of any text
        return "the accelerator refuses it: " + str(error).replace("\n", " ")[:300]
    complaint = difference(on_gpu, want, tolerance)
    return "GPU: " + complaint if complaint else ""


def ask_in_child(original, fixed, with_gpu):
    """The complaint of `judge`, in a fork of this process: a crashing delegate costs one model, and the packages are read once."""
    import ai_edge_litert.compiled_model  # noqa: F401
    import ai_edge_litert.interpreter  # noqa: F401
    import ai_edge_litert.schema_py_generated  # noqa: F401
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")
    os.environ["VK_ICD_FILENAMES"] = judge_environment.vulkan_driver()
    sys.stdout.flush()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                text = json.dumps(judge(original, fixed, with_gpu))
                os.write(1, f"\nVERDICT {text}\n".encode())
            except BaseException:
                os.write(1, traceback.format_exc().encode())
                os._exit(1)
            os._exit(0)  # the accelerator's own clean-up may abort
        ended, status, deadline = 0, 0, time.monotonic() + CHILD_SECONDS
        while not ended and time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0 if ended else 0.01)
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"the judge's process did not end within {CHILD_SECONDS} s"
        said.seek(0)
        lines = said.read().decode(errors="replace")
    for line in lines.splitlines():
        if line.startswith("VERDICT "):
            return json.loads(line[len("VERDICT "):])
    return f"the judge's process ended with {os.waitstatus_to_exitcode(status)}: {lines[-200:]}"


def ways_to_fix(folder, settings):
    """(name, arguments) of each way in which a user would run it."""
    target = settings.get("target", NEWEST)
    if (folder / "compile.log").exists():
        yield "log", ["--log", str(folder / "compile.log")]
    yield "target", ["--target", target]


def main(program, fixtures):
    judge_environment.enter("litert", "ai_edge_litert")
    if not judge_environment.vulkan_driver():
        judge_environment.skip("no software Vulkan driver: scripts/setup.sh --judges installs chromium's SwiftShader")
    judged, bad = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for before in sorted(pathlib.Path(fixtures).glob("*/before.tflite")):
            folder = before.parent
            settings = json.loads((folder / "judge.json").read_text()) if (folder / "judge.json").exists() else {}
            if "skip" in settings:
                print(f"{folder.name}: not judged: {settings['skip']}")
                continue
            for way, arguments in ways_to_fix(folder, settings):
                fixed = os.path.join(scratch, f"{folder.name}.{way}.tflite")
                run = subprocess.run([program, "fix", str(before), "-o", fixed, *arguments], capture_output=True, text=True, errors="replace")
                if run.returncode == 1:
                    print(f"{folder.name} ({way}): something remains, not judged")
                    continue
                complaint = ask_in_child(str(before), fixed, "target" not in settings) if run.returncode == 0 else f"exit {run.returncode}: {run.stderr[-300:]}"
                judged += 1
                bad += bool(complaint)
                print(f"{folder.name} ({way}): {complaint or 'ok'}", flush=True)
    print(f"{judged} judged, {bad} wrong")
    return 1 if bad or not judged else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
