#!/usr/bin/env python3
"""Trains networks with weights of -1 and +1 on Fashion-MNIST and exports them to ONNX.

    /usr/bin/python3 models/train_binary_mnist.py mlp 8 --out models/fashion_mlp_w1a8.onnx
    /usr/bin/python3 models/train_binary_mnist.py cnn 1 --out models/fashion_cnn_w1a1.onnx

The second argument is the number of bits of the activations: 2 to 8 gives unsigned codes after a
ReLU, 1 gives -1 and +1. The input always has 8 bits. No convolution pads values of one bit, so none
needs a third value.

  mlp  784, 128, 128 and 10 units; all weights are -1 and +1
  cnn  3x3 convolutions with 16, 32, 32 and 64 channels, max pooling after the first and the third,
       then 10 units with 8-bit weights

Needs Debian's python3-torch, python3-onnx and dataset-fashion-mnist; it downloads nothing.
"""
import argparse
import gzip
import os
import time

import numpy as np
import torch
from torch.nn import functional as F

from binary_net import Layers, Network, export
from evaluate_onnx import OnnxNetwork

DATA = "/usr/share/datasets/fashion-mnist"


def read(part):
    """Returns images, [N,1,28,28], and labels of `train` or `t10k`."""
    with gzip.open(os.path.join(DATA, part + "-images-idx3-ubyte.gz")) as f:
        images = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(os.path.join(DATA, part + "-labels-idx1-ubyte.gz")) as f:
        labels = np.frombuffer(f.read(), np.uint8, offset=8)
    return torch.from_numpy(images.copy()), torch.from_numpy(labels.copy()).long()


def make_mlp(bits):
    net = Layers((1, 28, 28))
    x = net.flatten(net.quant("image"), "pixels")
    for layer in (1, 2):
        x = net.relu(net.dense(x, f"dense{layer}", 128), bits)
    net.dense(x, "scores", 10)
    return net


def make_cnn(bits):
    net = Layers((1, 28, 28))
    x = net.relu(net.conv(net.quant("image"), "conv1", 16, 3), bits)
    x = net.max_pool(x, "pool1")
    x = net.relu(net.conv(x, "conv2", 32, 3, pad=0), bits)
    x = net.relu(net.conv(x, "conv3", 32, 3, pad=0), bits)
    x = net.max_pool(x, "pool3")
    x = net.relu(net.conv(x, "conv4", 64, 3, pad=0), bits)
    net.dense(net.flatten(x, "features"), "scores", 10, weights="int8", norm=False)
    return net


def to_input(images):
    return images.float() / 256


def count_hits(network, images, labels):
    with torch.no_grad():
        return sum(int((network(to_input(images[i:i + 500])).argmax(1) == labels[i:i + 500]).sum())
                   for i in range(0, len(images), 500))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=["mlp", "cnn"])
    parser.add_argument("bits", type=int, choices=range(1, 9), help="of the activations")
    parser.add_argument("--out", required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    train_x, train_y = read("train")
    test_x, test_y = read("t10k")
    network = Network({"mlp": make_mlp, "cnn": make_cnn}[args.network](args.bits))
    print(f"{network.count_weights()} weights", flush=True)

    optimiser = torch.optim.Adam(network.parameters(), lr=args.rate)
    steps = args.epochs * (len(train_x) // args.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, args.rate, total_steps=steps,
                                                   pct_start=0.1, final_div_factor=1000)
    for epoch in range(1, args.epochs + 1):
        start, total = time.time(), 0.0
        order = torch.randperm(len(train_x)).split(args.batch)
        for index in order:
            x = to_input(train_x[index])
            if torch.rand(()) < 0.5:
                x = x.flip(3)
            loss = F.cross_entropy(network(x), train_y[index])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            network.clip()
            total += float(loss)
        network.eval()
        hits = count_hits(network, test_x, test_y)
        network.train()
        print(f"epoch {epoch}: loss {total / len(order):.4f}, test {hits}/10000, "
              f"{time.time() - start:.0f} s", flush=True)
    export(network, args.out, os.path.splitext(os.path.basename(args.out))[0])
    written = OnnxNetwork(args.out)
    print(f"{args.out}: {count_hits(written, test_x, test_y)}/10000, first 500 "
          f"{count_hits(written, test_x[:500], test_y[:500])}/500")


if __name__ == "__main__":
    main()
