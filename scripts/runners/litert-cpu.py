#!/usr/bin/env python3
"""Runner: the LiteRT CPU interpreter, one thread."""
from exchange import Refused, main, version


def run(request, inputs):
    from ai_edge_litert.interpreter import Interpreter

    try:
        interpreter = Interpreter(request["model"], num_threads=1)
        details = interpreter.get_input_details()
        for d, array in zip(details, inputs):
            if tuple(d["shape"]) != array.shape:
                interpreter.resize_tensor_input(d["index"], array.shape)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as e:
        raise Refused(str(e))
    for d, array in zip(details, inputs):
        interpreter.set_tensor(d["index"], array.astype(d["dtype"]))
    interpreter.invoke()
    return version("ai-edge-litert"), [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


main(lambda: version("ai-edge-litert"), run)
