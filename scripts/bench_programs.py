#!/usr/bin/env python3
"""bench_programs.py FOLDER RUNS: exports the two programs that scripts/bench.sh measures, FOLDER/convolution.pt2 and encoder.pt2,
and prints a line "NAME SECONDS" each: the fastest run of torch with one thread. Needs torch (scripts/setup.sh --judges)."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test"))
import judge_environment  # noqa: E402

judge_environment.enter("executorch", "torch")
import torch  # noqa: E402
from torch import nn  # noqa: E402


def convolution_network():
    """The layers of MobileNet v1 at 224x224: 569 million multiply-adds."""
    def block(inputs, outputs, stride):
        return [nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False), nn.BatchNorm2d(inputs), nn.ReLU6(),
                nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6()]
    layers, width = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
    for outputs, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]:
        layers, width = layers + block(width, outputs, stride), outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000)), (torch.randn(1, 3, 224, 224),)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        b, n, w = x.shape

        def split(y):
            return y.view(b, n, self.heads, w // self.heads).transpose(1, 2)
        y = self.first(x)
        y = nn.functional.scaled_dot_product_attention(split(self.q(y)), split(self.k(y)), split(self.v(y)))
        x = x + self.o(y.transpose(1, 2).reshape(b, n, w))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


def encoder():
    """12 layers of width 384 on 128 tokens."""
    return nn.Sequential(*[Layer(384, 6) for _ in range(12)]), (torch.randn(1, 128, 384),)


def main():
    folder, runs = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with torch.no_grad():
        for name, (model, inputs) in (("convolution", convolution_network()), ("encoder", encoder())):
            model.eval()
            torch.export.save(torch.export.export(model, inputs), os.path.join(folder, name + ".pt2"))
            model(*inputs)
            fastest = 1e30
            for _ in range(runs):
                start = time.perf_counter()
                model(*inputs)
                fastest = min(fastest, time.perf_counter() - start)
            print(name, fastest, flush=True)


if __name__ == "__main__":
    main()
