#!/usr/bin/python3
"""Exports AlexNet and VGG-16 with random weights of -1 and +1 and 8-bit activations to ONNX.

    bench/export_binary_shapes.py FOLDER [--ends int8]     # binary_alexnet.onnx, binary_vgg16.onnx

The files are for counts of cycles and operations: their weights are drawn from a seed, and nothing
is trained. Every ReLU's value is rounded to 8 bits; batch normalisation has seen random images, so
about half of the values are 0. AlexNet (A. Krizhevsky, I. Sutskever, G. Hinton, NeurIPS 2012) has
no groups and no response normalisation, and its input is 3x227x227. VGG-16 is configuration D of K.
Simonyan and A. Zisserman (ICLR 2015). `--ends int8` gives the first and the last layer 8-bit
weights. The files have 62 and 138 MB. Needs Debian's python3-torch and python3-onnx.
"""
import argparse
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))

from binary_net import Layers, Network, export  # noqa: E402


def alexnet(ends):
    net = Layers((3, 227, 227))
    x = net.relu(net.conv(net.quant("image"), "conv1", 96, 11, 4, pad=0, weights=ends))
    x = net.max_pool(x, "pool1", 3, 2)
    x = net.max_pool(net.relu(net.conv(x, "conv2", 256, 5)), "pool2", 3, 2)
    for layer, channels in ((3, 384), (4, 384), (5, 256)):
        x = net.relu(net.conv(x, f"conv{layer}", channels, 3))
    return net, net.max_pool(x, "pool5", 3, 2)


def vgg16(ends):
    net = Layers((3, 224, 224))
    x = net.quant("image")
    for stage, (channels, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 1):
        for layer in range(1, count + 1):
            weights = ends if stage == layer == 1 else "binary"
            x = net.relu(net.conv(x, f"conv{stage}_{layer}", channels, 3, weights=weights))
        x = net.max_pool(x, f"pool{stage}")
    return net, x


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ends", choices=["binary", "int8"], default="binary")
    parser.add_argument("--networks", nargs="+", choices=["alexnet", "vgg16"],
                        default=["alexnet", "vgg16"])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.networks:
        torch.manual_seed(1)
        net, x = {"alexnet": alexnet, "vgg16": vgg16}[name](args.ends)
        x = net.flatten(x, "features")
        for layer in (6, 7):
            x = net.relu(net.dense(x, f"dense{layer}", 4096))
        net.dense(x, "scores", 1000, weights=args.ends)
        network = Network(net)
        network.settle(count=1)
        export(network, args.folder / f"binary_{name}.onnx", f"binary_{name}")


if __name__ == "__main__":
    main()
