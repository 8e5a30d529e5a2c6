#!/usr/bin/env python3
"""Runner: ONNX Runtime on the CPU."""
from exchange import Refused, by_name, main, version


def run(request, inputs):
    import onnxruntime

    try:
        session = onnxruntime.InferenceSession(request["model"], providers=["CPUExecutionProvider"])
    except Exception as e:
        raise Refused(str(e))
    names = [i.name for i in session.get_inputs()]
    arrays = by_name(request["inputs"], inputs, names) or inputs
    return version("onnxruntime"), session.run([o["name"] for o in request["outputs"]], dict(zip(names, arrays)))


main(lambda: version("onnxruntime"), run)
