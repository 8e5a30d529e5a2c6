#!/usr/bin/env python3
"""Runner: the LiteRT GPU accelerator (WebGPU), the whole model on the GPU. Without a GPU: SwiftShader, in fp32."""
import os

from exchange import Refused, by_name, main, version

SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json"


def probe():
    text = version("ai-edge-litert")
    if "VK_ICD_FILENAMES" not in os.environ and not os.path.exists(SWIFTSHADER) and not os.path.exists("/usr/share/vulkan/icd.d"):
        raise ImportError("no Vulkan driver: apt install chromium libvulkan1")
    return text + " (GPU)"


def run(request, inputs):
    import numpy as np

    if os.path.exists(SWIFTSHADER) and not os.path.exists("/dev/dri"):
        os.environ.setdefault("VK_ICD_FILENAMES", SWIFTSHADER)
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")
    from ai_edge_litert.compiled_model import CompiledModel
    from ai_edge_litert.hardware_accelerator import HardwareAccelerator

    model = request["model"]
    try:
        try:
            from ai_edge_litert.gpu_options import GpuOptions
            from ai_edge_litert.options import Options

            options = Options(hardware_accelerators=HardwareAccelerator.GPU, gpu_options=GpuOptions(enforce_f32=request["precision"] == "fp32"))
            compiled = CompiledModel.from_file(model, options=options)
        except ImportError:  # releases before the options
            compiled = CompiledModel.from_file(model, hardware_accel=HardwareAccelerator.GPU)
    except Exception as e:
        raise Refused(str(e))
    if hasattr(compiled, "is_fully_accelerated") and not compiled.is_fully_accelerated():
        raise Refused("not the whole model runs on the GPU")
    signature = {"inputs": [], "outputs": []}
    try:
        signature = list(compiled.get_signature_list().values())[0]
    except Exception:  # a file without signatures: tensor order
        pass
    ordered = by_name(request["inputs"], inputs, signature["inputs"]) if signature["inputs"] else None
    buffers, results = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    for buffer, array in zip(buffers, ordered or inputs):
        buffer.write(np.ascontiguousarray(array))
    compiled.run_by_index(0, buffers, results)
    arrays = []
    names = signature["outputs"] or [o["name"] for o in request["outputs"]]
    for o, buffer in zip(names, results):
        spec = next((r for r in request["outputs"] if o in (r["signature_name"], r["name"])), None) or request["outputs"][len(arrays)]
        dtype, shape = np.dtype(spec["dtype"]), spec["shape"]
        arrays.append((o, np.asarray(buffer.read(int(np.prod(shape)), dtype.type)).reshape(shape)))
    table = dict(arrays)
    wanted = [r["signature_name"] if r["signature_name"] in table else r["name"] for r in request["outputs"]]
    return probe(), [table[w] if w in table else arrays[i][1] for i, w in enumerate(wanted)]


main(probe, run)
