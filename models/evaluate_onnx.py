#!/usr/bin/env python3
"""Computes ONNX files with PyTorch, for scores and test values that do not come from Kiln.

    /usr/bin/python3 models/evaluate_onnx.py MODEL.onnx IMAGES.npy RESULTS [--scale 1/256]

It knows the operators of the networks that the scripts in this folder write, and of ResNet-20.
Pixels times `scale` are the input. RESULTS becomes a NumPy file (.npy), or raw little-endian fp32
(any other name). Needs Debian's python3-torch and python3-onnx.
"""
import argparse
import fractions

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F


def to_codes(x, scale, zero, bits, signed, narrow, rounding_mode=b"ROUND"):
    """QONNX's Quant: x rounded to the codes of a width, times the scale."""
    assert rounding_mode == b"ROUND"
    least = -2 ** (bits.item() - 1) + narrow if signed else 0
    most = 2 ** (bits.item() - 1) - 1 if signed else 2 ** bits.item() - 1 - narrow
    return ((x / scale + zero).round().clamp(least, most) - zero) * scale


def from_codes(codes, scale, axis=1):
    return codes.float() * scale.reshape([-1 if i == axis else 1 for i in range(codes.dim())])


def conv(x, weight, bias=None, strides=(1, 1), pads=(0, 0, 0, 0), **_):
    return F.conv2d(x, weight, bias, stride=strides, padding=pads[:2])


def gemm(x, weight, bias, transB, **_):
    assert transB == 1
    return F.linear(x, weight, bias)


def norm(x, weight, bias, mean, variance, epsilon=1e-5, **_):
    return F.batch_norm(x, mean, variance, weight, bias, eps=epsilon)


def cut(x, starts, ends, axes, steps):
    where = [slice(None)] * x.dim()
    for start, end, axis, step in zip(*(v.tolist() for v in (starts, ends, axes, steps))):
        where[axis] = slice(start, min(end, x.shape[axis]), step)
    return x[tuple(where)]


def pad(x, pads, **_):
    pads = pads.tolist()
    return F.pad(x, [p for axis in reversed(range(x.dim())) for p in pads[axis::x.dim()]])


def resize(x, scales, mode, coordinate_transformation_mode, nearest_mode):
    assert (mode, coordinate_transformation_mode, nearest_mode) == (b"nearest", b"asymmetric",
                                                                    b"floor")
    return F.interpolate(x, scale_factor=scales.tolist()[2:], mode="nearest")


OPERATORS = {
    "Add": torch.add,
    "AveragePool": lambda x, kernel_shape, **_: F.avg_pool2d(x, kernel_shape),
    "BatchNormalization": norm,
    "BipolarQuant": lambda x, scale: torch.where(x >= 0, scale, -scale),
    "Cast": lambda x, to: x.float(),
    "Concat": lambda *x, axis: torch.cat(x, axis),
    "Conv": conv,
    "DequantizeLinear": from_codes,
    "Flatten": lambda x, **_: x.flatten(1),
    "Gemm": gemm,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
    "MaxPool": lambda x, kernel_shape, strides: F.max_pool2d(x, kernel_shape, strides),
    "Pad": pad,
    "Quant": to_codes,
    "Relu": F.relu,
    "Resize": resize,
    "Slice": cut,
}


class OnnxNetwork:
    """An ONNX file with one input and one output; calling it computes a batch."""

    def __init__(self, path):
        self.graph = onnx.load(path).graph
        self.tensors = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy())
                        for t in self.graph.initializer}

    def convolution_weights(self):
        return [self.tensors[node.input[1]] for node in self.graph.node if node.op_type == "Conv"]

    def __call__(self, x):
        values = {**self.tensors, self.graph.input[0].name: x}
        with torch.no_grad():
            for node in self.graph.node:
                options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                values[node.output[0]] = OPERATORS[node.op_type](
                    *(values[name] for name in node.input if name), **options)
        return values[self.graph.output[0].name]

    def in_parts(self, x, size=50):
        return torch.cat([self(part) for part in x.split(size)])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("images", help="pixels, [N,channels,height,width]")
    parser.add_argument("results")
    parser.add_argument("--scale", type=fractions.Fraction, default=fractions.Fraction(1, 256))
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    images = torch.from_numpy(np.load(args.images)).float() * float(args.scale)
    results = OnnxNetwork(args.model).in_parts(images).numpy()
    if args.results.endswith(".npy"):
        np.save(args.results, results)
    else:
        results.astype("<f4").tofile(args.results)


if __name__ == "__main__":
    main()
