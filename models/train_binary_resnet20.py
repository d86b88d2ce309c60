#!/usr/bin/env python3
"""Trains a ResNet-20 with weights of -1 and +1 for CIFAR-10, taught by one in fp32; exports ONNX.

    /usr/bin/python3 models/train_binary_resnet20.py TEST.bin --teacher TEACHER.onnx --out FILE.onnx

TEST.bin is CIFAR-10's test set in its binary layout. The network learns from its first 8000 images,
and the score is the accuracy on the other 2000. So the script needs no other file, but its score
cannot be compared with published figures, whose networks learn from the 50,000 training images.

The teacher is an ONNX file of a ResNet-20 that takes pixels / 255, normalised with MEAN and STD.
The real numbers behind the weights begin as the teacher's weights. The loss is the mean of the
cross entropies with the labels and with the teacher's softened scores (G. Hinton, O. Vinyals, J.
Dean, "Distilling the Knowledge in a Neural Network", 2015).

The student differs from ResNet-20 (K. He et al., "Deep Residual Learning for Image Recognition",
CVPR 2016) where all its values are unsigned codes: a ReLU comes before the residual sum, and not
after it. A shortcut to twice the channels is max pooling, and its channels count twice. The first
convolution and the last layer have 8-bit weights. Needs Debian's python3-torch and python3-onnx.
"""
import argparse
import time

import numpy as np
import torch
from torch.nn import functional as F

from binary_net import Layers, Network, export
from evaluate_onnx import OnnxNetwork

TRAINING = 8000  # images from the beginning of the file; the others give the score
MEAN = torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)
SOFTNESS = 3.0  # the temperature of the teacher's scores


def read(path):
    """Returns images as uint8 [N,3,32,32], and labels."""
    rows = np.fromfile(path, np.uint8).reshape(-1, 3073)
    assert len(rows) > TRAINING, f"{path}: {len(rows)} images, but {TRAINING} are for training"
    return (torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy()),
            torch.from_numpy(rows[:, 0].astype(np.int64)))


def make_resnet20():
    net = Layers((3, 32, 32))
    x = net.relu(net.conv(net.quant("image"), "conv1", 16, 3, weights="int8"))
    for stage, channels in enumerate((16, 32, 64), 1):
        for block in range(3):
            name, stride = f"layer{stage}_{block}", 2 if stage > 1 and block == 0 else 1
            y = net.relu(net.conv(x, f"{name}_conv1", channels, 3, stride))
            y = net.relu(net.conv(y, f"{name}_conv2", channels, 3))
            if stride > 1:
                x = net.max_pool(x, f"{name}_pool")
                x = net.concat([x, x], f"{name}_twice")
            x = net.quant(net.total(x, y, f"{name}_sum"), 8, 16.0)
    x = net.quant(net.mean(x, "features"), 8, 16.0)
    net.dense(x, "scores", 10, weights="int8", norm=False)
    return net


def shifted(images, most=3):
    """Returns each image moved by up to `most` pixels in both directions, some mirrored."""
    count, size = len(images), images.shape[2]
    padded = F.pad(images, [most] * 4)
    rows = torch.randint(0, 2 * most + 1, (count, 1)) + torch.arange(size)
    columns = torch.randint(0, 2 * most + 1, (count, 1)) + torch.arange(size)
    mirrored = torch.rand(count, 1) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    each = torch.arange(count)[:, None, None]
    return padded.permute(0, 2, 3, 1)[each, rows[:, :, None], columns[:, None, :]].permute(
        0, 3, 1, 2)


def count_hits(network, images, labels):
    with torch.no_grad():
        return sum(int((network(images[i:i + 100].float()).argmax(1) == labels[i:i + 100]).sum())
                   for i in range(0, len(images), 100))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test_set")
    parser.add_argument("--teacher", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--rate", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    images, labels = read(args.test_set)
    held_out, truth = images[TRAINING:], labels[TRAINING:]
    fp32 = OnnxNetwork(args.teacher)
    teacher = lambda pixels: fp32((pixels / 255 - MEAN) / STD)
    teacher_hits = count_hits(teacher, held_out, truth)
    network = Network(make_resnet20())
    convolutions = [layer for layer in network.weighted.values() if layer.op == "conv"]
    with torch.no_grad():
        for layer, weight in zip(convolutions, fp32.convolution_weights(), strict=True):
            layer.weight.copy_(weight)
    network.clip()
    network = network.to(memory_format=torch.channels_last)
    print(f"{network.count_weights()} weights; teacher {teacher_hits}/{len(truth)}", flush=True)

    optimiser = torch.optim.Adam(network.parameters(), lr=args.rate)
    steps = args.epochs * (TRAINING // args.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, args.rate, total_steps=steps,
                                                   pct_start=0.1, final_div_factor=1000)
    for epoch in range(1, args.epochs + 1):
        start, total = time.time(), 0.0
        order = torch.randperm(TRAINING).split(args.batch)
        for index in order:
            x = shifted(images[index]).float().contiguous(memory_format=torch.channels_last)
            wanted = F.softmax(teacher(x) / SOFTNESS, 1)
            scores = network(x / 256)
            loss = (F.cross_entropy(scores, labels[index])
                    + SOFTNESS ** 2 * F.cross_entropy(scores / SOFTNESS, wanted)) / 2
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            network.clip()
            total += float(loss)
        network.eval()
        hits = count_hits(lambda x: network(x / 256), held_out, truth)
        network.train()
        print(f"epoch {epoch}: loss {total / len(order):.4f}, held out {hits}/{len(truth)}, "
              f"{time.time() - start:.0f} s", flush=True)
    export(network.to(memory_format=torch.contiguous_format), args.out, "binary_resnet20")
    student = OnnxNetwork(args.out)
    print(f"{args.out}: held out {count_hits(lambda x: student(x / 256), held_out, truth)}/"
          f"{len(truth)}")


if __name__ == "__main__":
    main()
