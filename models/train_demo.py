#!/usr/bin/env python3
"""Trains the demo network on Fashion-MNIST and exports it to ONNX.

    /usr/bin/python3 models/train_demo.py --out models/demo_fashion_mnist.onnx

Needs Debian's python3-torch, python3-onnx and dataset-fashion-mnist; it downloads nothing. The
network is small on purpose (about 70,000 parameters, 10 million multiply-accumulates) and has one
of each kind of layer that the systolic family must run: full convolutions with a residual sum,
inverted residuals with depthwise layers of stride 1 and 2, one attention block with layer
normalisation, softmax and GELU, global pooling and a dense head.
"""
import argparse
import gzip
import math
import os
import struct
import time

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

DATA = "/usr/share/datasets/fashion-mnist"
MEAN, STD = 0.2860, 0.3530  # of the training pixels divided by 255


def read_idx(name):
    """Returns an IDX file (gzip or plain) as a uint8 array."""
    path = os.path.join(DATA, name)
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        _, _, kind, rank = struct.unpack(">BBBB", f.read(4))
        assert kind == 8, f"{path}: not unsigned bytes"
        shape = struct.unpack(f">{rank}I", f.read(4 * rank))
        return np.frombuffer(f.read(), dtype=np.uint8).reshape(shape)


class ConvBn(nn.Sequential):
    def __init__(self, cin, cout, kernel, stride=1, groups=1, relu=True):
        layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
                  nn.BatchNorm2d(cout)]
        super().__init__(*layers, *([nn.ReLU()] if relu else []))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(ConvBn(channels, channels, 3),
                                  ConvBn(channels, channels, 3, relu=False))

    def forward(self, x):
        return F.relu(x + self.body(x))


class InvertedResidual(nn.Module):
    def __init__(self, cin, hidden, cout, stride):
        super().__init__()
        self.body = nn.Sequential(ConvBn(cin, hidden, 1),
                                  ConvBn(hidden, hidden, 3, stride, groups=hidden),
                                  ConvBn(hidden, cout, 1, relu=False))
        self.skip = stride == 1 and cin == cout

    def forward(self, x):
        y = self.body(x)
        return x + y if self.skip else y


class Attention(nn.Module):
    """Pre-normalised transformer block on [batch, tokens, dim]."""

    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))
        self.out = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        batch, tokens, dim = x.shape
        y = self.norm1(x)
        split = lambda t: t.reshape(batch, tokens, self.heads, dim // self.heads).transpose(1, 2)
        q, k, v = split(self.query(y)), split(self.key(y)), split(self.value(y))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(dim // self.heads)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, dim))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class DemoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvBn(1, 16, 3)
        self.stage1 = Residual(16)
        self.stage2 = nn.Sequential(InvertedResidual(16, 64, 32, 2),
                                    InvertedResidual(32, 128, 32, 1))
        self.stage3 = InvertedResidual(32, 128, 64, 2)
        self.position = nn.Parameter(torch.zeros(1, 49, 64))
        self.block = Attention(64, 4, 128)
        self.head = nn.Linear(64, 10)

    def forward(self, image):
        x = self.stage3(self.stage2(self.stage1(self.stem(image))))
        batch = x.shape[0]
        tokens = x.reshape(batch, 64, 49).transpose(1, 2) + self.position
        return self.head(self.block(tokens).mean(dim=1))


def batches(images, labels, size, generator):
    order = torch.randperm(len(images), generator=generator)
    for start in range(0, len(order) - size + 1, size):
        index = order[start:start + size]
        x, y = images[index], labels[index]
        if torch.rand((), generator=generator) < 0.5:
            x = x.flip(3)
        dy, dx = (int(v) for v in torch.randint(-2, 3, (2,), generator=generator))
        yield torch.roll(x, (dy, dx), (2, 3)), y


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        hits = sum(int((model(images[i:i + 500]).argmax(1) == labels[i:i + 500]).sum())
                   for i in range(0, len(images), 500))
    return hits


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="models/demo_fashion_mnist.onnx")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(2)
    generator = torch.Generator().manual_seed(args.seed)
    to_images = lambda a: ((torch.from_numpy(a.copy()).float() / 255 - MEAN) / STD).unsqueeze(1)
    names = sorted(os.listdir(DATA))
    pick = lambda part, kind: next(n for n in names if n.startswith(part) and kind in n)
    train_x, train_y = to_images(read_idx(pick("train", "images"))), torch.from_numpy(
        read_idx(pick("train", "labels")).copy()).long()
    test_x, test_y = to_images(read_idx(pick("t10k", "images"))), torch.from_numpy(
        read_idx(pick("t10k", "labels")).copy()).long()

    model = DemoNet()
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    steps = args.epochs * (len(train_x) // args.batch)
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps,
                                                   pct_start=0.2)
    for epoch in range(args.epochs):
        model.train()
        start, total = time.time(), 0.0
        for x, y in batches(train_x, train_y, args.batch, generator):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss)
        hits = accuracy(model, test_x, test_y)
        print(f"epoch {epoch + 1}: loss {total * args.batch / len(train_x):.4f}, "
              f"test {hits}/10000, {time.time() - start:.0f} s", flush=True)
        export(model, args.out)


def export(model, path):
    model.eval()
    # Training mode keeps BatchNormalization as a node, so that Kiln folds it and not the exporter.
    torch.onnx.export(model, torch.zeros(1, 1, 28, 28), path, opset_version=13,
                      input_names=["image"], output_names=["logits"],
                      training=torch.onnx.TrainingMode.PRESERVE,
                      dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}})
    annotate(path)


def annotate(path):
    """Writes into the model how pixels become inputs, so that `kiln run` needs no flag for it."""
    proto = onnx.load(path)
    del proto.metadata_props[:]
    entry = proto.metadata_props.add()
    entry.key, entry.value = "kiln.preprocess", f"scale=1/255,mean={MEAN},std={STD}"
    proto.graph.name = "demo_fashion_mnist"
    onnx.save(proto, path)


if __name__ == "__main__":
    main()
