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
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402

NEWEST = "litert-gpu@2.3.0"
# Largest difference relative to the largest output: data of 8-bit files differs by one step, fp32 by rounding.
CPU_TOLERANCE, GPU_TOLERANCE, QUANTIZED_TOLERANCE, FLOOR = 1e-3, 1e-3, 2e-2, 1e-6


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


def has_quantized_tensors(path):
    from ai_edge_litert.interpreter import Interpreter
    return any(d["dtype"].__name__ in ("int8", "uint8", "int16") and d["quantization"][0] != 0 for d in Interpreter(path).get_tensor_details())


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
        if worst > max(FLOOR, tolerance * scale):
            return f"output {name} differs by {worst:.3g} of {scale:.3g}"
    return ""


def judge(original, fixed, with_gpu):
    """One model in this process; prints the complaint, or nothing."""
    try:
        inputs, want = run_cpu(original)
    except ValueError as error:
        # No kernel reads the original, so the written model's own CPU result is what the accelerator is held to.
        if "Didn't find op" not in str(error):
            raise
        original = fixed
        inputs, want = run_cpu(original)
    quantized = has_quantized_tensors(original)
    _, on_cpu = run_cpu(fixed, inputs)
    complaint = difference(on_cpu, want, QUANTIZED_TOLERANCE if quantized else CPU_TOLERANCE)
    if complaint:
        return "CPU: " + complaint
    if not with_gpu:
        return ""
    try:
        on_gpu = run_gpu(fixed, inputs, want)
    except Exception as error:  # the binding raises plain RuntimeErrors of any text
        return "the accelerator refuses it: " + str(error).replace("\n", " ")[:300]
    complaint = difference(on_gpu, want, QUANTIZED_TOLERANCE if quantized else GPU_TOLERANCE)
    return "GPU: " + complaint if complaint else ""


def child(arguments):
    original, fixed, with_gpu = arguments
    print("\nVERDICT " + json.dumps(judge(original, fixed, with_gpu == "gpu")), flush=True)
    os._exit(0)  # the accelerator's own clean-up may abort


def ask_in_child(original, fixed, with_gpu):
    """A crashing delegate costs one model."""
    command = [sys.executable, os.path.abspath(__file__), "--child", original, fixed, "gpu" if with_gpu else "cpu"]
    environment = dict(os.environ, XDG_RUNTIME_DIR=os.environ.get("XDG_RUNTIME_DIR", "/tmp"))
    environment["VK_ICD_FILENAMES"] = judge_environment.vulkan_driver()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=300)
    for line in done.stdout.splitlines():
        if line.startswith("VERDICT "):
            return json.loads(line[len("VERDICT "):])
    return f"the judge's process ended with {done.returncode}: {done.stderr[-200:]}"


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
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    sys.exit(main(*sys.argv[1:]))
