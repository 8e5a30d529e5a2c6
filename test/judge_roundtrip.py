"""Real .tflite files against the real runtime: a write without edits gives the same bytes, and a file whose graph tables
were all built anew loads, computes the same on the CPU interpreter and gets the same verdict from the GPU accelerator.

usage: judge_roundtrip.py MD_REWRITE CACHE_FOLDER [MODEL...]
Without models: fixtures/**/*.tflite and every .tflite in the npm packages of MediaPipe, which scripts/setup.sh --judges installs
(also those inside their packed asset files). MD_JUDGE_GPU=0 leaves the accelerator out.
"""
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment

# Lines of the accelerator's log that are its verdict on an operator.
VERDICT = re.compile(r"^[A-Z0-9_]+( \S+)?: |INVALID_ARGUMENT")
LOG_LEVEL = re.compile(r"^(INFO|WARNING|ERROR|VERBOSE)\b")


def npm_models(cache):
    """Files of the MediaPipe packages, those in packed asset files unpacked into the cache."""
    folder, unpacked = os.path.join(judge_environment.environments(), "mediapipe"), os.path.join(cache, "npm")
    os.makedirs(unpacked, exist_ok=True)
    found = glob.glob(os.path.join(folder, "node_modules/**/*.tflite"), recursive=True)
    for loader in glob.glob(os.path.join(folder, "node_modules/**/*_packed_assets_loader.js"), recursive=True):
        data = loader.replace("_loader.js", ".data")
        for entry in re.findall(r"\{[^{}]*\.tflite[^{}]*\}", open(loader, errors="replace").read()):
            name = re.search(r'"?filename"?\s*:\s*"([^"]+)"', entry)
            start, end = (re.search(rf'"?{key}"?\s*:\s*(\d+)', entry) for key in ("start", "end"))
            if not (name and start and end and os.path.exists(data)):
                continue
            out = os.path.join(unpacked, os.path.basename(loader).split("_packed")[0] + "_" + os.path.basename(name[1]))
            with open(data, "rb") as source, open(out, "wb") as target:
                source.seek(int(start[1]))
                target.write(source.read(int(end[1]) - int(start[1])))
            found.append(out)
    return found


def random_inputs(np, details):
    inputs = []
    for i, d in enumerate(details):
        rng, shape = np.random.default_rng(17 + i), tuple(int(n) for n in d["shape"])
        if np.issubdtype(d["dtype"], np.floating):
            inputs.append((rng.random(shape) * 2 - 1).astype(d["dtype"]))
        elif d["dtype"] == np.bool_:
            inputs.append(rng.random(shape) > 0.5)
        else:
            inputs.append((np.arange(int(np.prod(shape))) % 4).astype(d["dtype"]).reshape(shape))
    return inputs


def run_on_cpu(path):
    """What the interpreter says: interface and outputs, or its refusal."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
    result = {"signatures": None, "details": None, "outputs": None, "error": None}
    try:
        interpreter = Interpreter(path, num_threads=1)
        interpreter.allocate_tensors()
        result["signatures"] = interpreter.get_signature_list()
        ins, outs = interpreter.get_input_details(), interpreter.get_output_details()
        keys = ("name", "index", "shape", "shape_signature", "dtype", "quantization")
        result["details"] = [[str(d[k]) for k in keys] for d in ins + outs]
        for d, value in zip(ins, random_inputs(np, ins)):
            interpreter.set_tensor(d["index"], value)
        interpreter.invoke()
        result["outputs"] = [interpreter.get_tensor(d["index"]) for d in outs]
    except Exception as e:  # the runtime's own words are the result
        result["error"] = re.sub(r"0x[0-9a-f]+|\S+\.tflite", "", f"{type(e).__name__}: {e}")
    return result


def compare_on_cpu(original, rebuilt):
    """What differs, as a list of texts; then how the original fares."""
    import numpy as np
    a, b = run_on_cpu(original), run_on_cpu(rebuilt)
    faults = [f"cpu: {key} differs: {a[key]} and {b[key]}" for key in ("signatures", "details", "error") if a[key] != b[key]]
    if (a["outputs"] is None) != (b["outputs"] is None):
        faults.append("cpu: only one of the two runs")
    for i, (x, y) in enumerate(zip(a["outputs"] or [], b["outputs"] or [])):
        if not np.array_equal(np.asarray(x), np.asarray(y), equal_nan=np.asarray(x).dtype.kind in "fc"):
            faults.append(f"cpu: output {i} differs")
    return faults, "refused" if a["error"] else "ran"


def child(mode, paths):
    """Runs in a process of its own, because a runtime may abort. The last line of standard output is the result."""
    if mode == "cpu":
        faults, state = compare_on_cpu(*paths)
        print("\n" + json.dumps({"faults": faults, "state": state}))
        return
    from ai_edge_litert.compiled_model import CompiledModel
    from ai_edge_litert.hardware_accelerator import HardwareAccelerator
    from ai_edge_litert.options import Options
    try:
        model = CompiledModel.from_file(paths[0], options=Options(hardware_accelerators=HardwareAccelerator.GPU))
        state = "accepted" if model.is_fully_accelerated() else "partial"
    except Exception:
        state = "refused"
    print("\n" + json.dumps({"state": state}), flush=True)
    os._exit(0)  # the accelerator's own clean-up may crash, after the verdict


def ask(mode, *paths):
    """(result of the child, its log lines that are verdicts); a crash is a result too."""
    env = dict(os.environ, XDG_RUNTIME_DIR=os.environ.get("XDG_RUNTIME_DIR", "/tmp"), TF_CPP_MIN_LOG_LEVEL="0")
    driver = judge_environment.vulkan_driver()
    if driver:
        env["VK_ICD_FILENAMES"] = driver
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--child", mode, *paths], env=env, capture_output=True, text=True, errors="replace", timeout=300)
    lines = (line[line.index("INVALID_ARGUMENT"):] if "INVALID_ARGUMENT" in line else line for line in done.stderr.splitlines())
    lines = sorted({line for line in lines if VERDICT.match(line) and not LOG_LEVEL.match(line)})
    try:
        return json.loads(done.stdout.strip().splitlines()[-1]), lines
    except (IndexError, ValueError):
        return {"state": f"crash {done.returncode}", "faults": []}, lines


def judge(tool, model, out, gpu):
    """Faults of one model, and how it fared."""
    copy, built = out + ".copy.tflite", out + ".built.tflite"
    for mode, target in (("copy", copy), ("build", built)):
        done = subprocess.run([tool, mode, model, target], capture_output=True, text=True)
        if done.returncode != 0:
            return [f"{mode}: {done.stderr.strip()}"], {}
    faults = [] if open(model, "rb").read() == open(copy, "rb").read() else ["copy: the bytes differ"]
    cpu, _ = ask("cpu", model, built)
    faults += cpu["faults"]
    fared = {"cpu": cpu["state"]}
    if cpu["state"].startswith("crash") and not ask("cpu", model, model)[0]["state"].startswith("crash"):
        faults.append("cpu: the runtime crashes on the rebuilt file only")
    if gpu:
        (before, before_lines), (after, after_lines) = ask("gpu", model), ask("gpu", built)
        fared["gpu"] = before["state"]
        if before["state"] != after["state"] or before_lines != after_lines:
            faults.append(f"gpu: {before['state']} {before_lines} became {after['state']} {after_lines}")
    return faults, fared


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], sys.argv[3:])
    judge_environment.enter("litert", "ai_edge_litert")
    tool, cache, models = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(cache, exist_ok=True)
    gpu = os.environ.get("MD_JUDGE_GPU") != "0" and judge_environment.vulkan_driver() is not None
    if not gpu and os.environ.get("MD_JUDGE_GPU") != "0" and judge_environment.in_ci():
        judge_environment.skip("no software Vulkan driver (Debian's chromium brings one)")
    if not gpu:
        print("the GPU accelerator is not asked: MD_JUDGE_GPU=0, or no software Vulkan driver (Debian's chromium brings one)")
    if not models:
        public = npm_models(cache)
        if not public and judge_environment.in_ci():
            judge_environment.skip("no MediaPipe packages: scripts/setup.sh --judges installs them with npm")
        if not public:
            print("only the fixtures are judged: scripts/setup.sh --judges installs MediaPipe's models with npm")
        models = sorted(glob.glob(os.path.join(judge_environment.SOURCE, "fixtures/**/*.tflite"), recursive=True)) + sorted(public)
    if not models:
        judge_environment.skip("no .tflite file to judge")
    bad, counts = 0, {}
    for model in models:
        faults, fared = judge(tool, model, os.path.join(cache, "rewritten"), gpu)
        for kind, state in fared.items():
            counts[f"{kind} {state}"] = counts.get(f"{kind} {state}", 0) + 1
        bad += bool(faults)
        for fault in faults:
            print(f"{model}: {fault}")
    print(f"{len(models)} models, {bad} with faults; of the originals: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if bad else 0


sys.exit(main())
