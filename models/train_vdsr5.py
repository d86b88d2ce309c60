#!/usr/bin/env python3
"""Trains VDSR-5, a super-resolution network, on photographs and exports it to ONNX.

    /usr/bin/python3 models/train_vdsr5.py train --out models/vdsr5.onnx
    /usr/bin/python3 models/train_vdsr5.py measure models/vdsr5.onnx IMAGE...
    /usr/bin/python3 models/train_vdsr5.py pair PHOTOGRAPH LEFT TOP PREFIX

The network is VDSR of J. Kim, J. K. Lee and K. M. Lee, "Accurate Image Super-Resolution Using Very
Deep Convolutional Networks" (CVPR 2016), with 5 convolutions instead of 20. It takes the luma of an
image that was enlarged by 2 with bicubic interpolation, in [0, 1], and adds the missing detail.

`train` needs Debian's python3-torch, python3-onnx, python3-pil and python3-skimage; it fetches
nothing. It learns from the photographs in TRAINING, which Debian's scikit-image and SciPy contain,
and reports the PSNR of HELD_OUT, which it never learns from. `measure` needs no PyTorch: it
evaluates the ONNX file with NumPy and prints the PSNR of bicubic enlargement and of the network for
image files of any size and for files in CIFAR-10's binary layout (.bin). `pair` cuts 200x200 pixels
out of a photograph and writes PREFIX_original.pgm and PREFIX_bicubic.pgm, the network's input.
"""
import argparse
import bz2
import os
import pickle
import time

import numpy as np
import onnx
from onnx import numpy_helper
from PIL import Image

SIZE = 200  # of the exported network's input
CROP = 48  # of the patches to learn from
CHANNELS, DEPTH = 64, 5
PACKAGES = "/usr/lib/python3/dist-packages"

# Photographs by their path in PACKAGES with the factor that shrinks them first: two are blurred in
# full size. All are in the public domain, CC0, or have no known copyright restrictions.
TRAINING = {
    "scipy/misc/ascent.dat": 1, "scipy/misc/face.dat": 1,
    "skimage/data/brick.png": 1, "skimage/data/chelsea.png": 1, "skimage/data/coffee.png": 1,
    "skimage/data/coins.png": 1, "skimage/data/grass.png": 1, "skimage/data/gravel.png": 1,
    "skimage/data/hubble_deep_field.jpg": 0.6, "skimage/data/ihc.png": 1,
    "skimage/data/retina.jpg": 0.4, "skimage/data/rocket.jpg": 1, "skimage/data/text.png": 1,
}
HELD_OUT = ["skimage/data/astronaut.png", "skimage/data/camera.png",
            "skimage/data/motorcycle_left.png"]
SCALES = (1, 0.7, 0.5, 0.35)  # Each photograph is learnt from in these sizes.


def read_luma(path):
    """Returns the luma (ITU-R BT.601) of an image file as an 8-bit PIL image."""
    if path.endswith("face.dat"):  # of SciPy: compressed RGB
        with bz2.open(path) as f:
            return Image.fromarray(
                np.frombuffer(f.read(), np.uint8).reshape(768, 1024, 3)).convert("L")
    if path.endswith("ascent.dat"):  # of SciPy: pickled rows of grey levels
        with open(path, "rb") as f:
            return Image.fromarray(np.asarray(pickle.load(f), np.uint8))
    return Image.open(path).convert("L")


def read_cifar(path):
    """Returns the lumas of a file in CIFAR-10's binary layout."""
    planes = np.fromfile(path, np.uint8).reshape(-1, 3073)[:, 1:].reshape(-1, 3, 32, 32)
    return [Image.fromarray(image).convert("L")
            for image in np.ascontiguousarray(planes.transpose(0, 2, 3, 1))]


def shrink(image, factor):
    size = [int(length * factor) for length in image.size]
    return image if factor == 1 else image.resize(size, Image.BICUBIC)


def make_pair(image):
    """Returns an image shrunk and enlarged again by 2, and the image itself, as uint8 arrays.

    Both steps are bicubic and round to 8 bits. An odd last row or column is dropped.
    """
    width, height = (length // 2 * 2 for length in image.size)
    image = image.crop((0, 0, width, height))
    enlarged = image.resize((width // 2, height // 2), Image.BICUBIC).resize(
        (width, height), Image.BICUBIC)
    return np.array(enlarged), np.array(image)


def psnr(image, original):
    """Returns the PSNR in dB of 8-bit images, over all pixels."""
    error = np.mean((image.astype(np.float64) - original.astype(np.float64)) ** 2)
    return 10 * np.log10(255 ** 2 / error)


def to_bytes(luma):
    return np.rint(np.clip(luma * 255, 0, 255)).astype(np.uint8)


def report(name, network, pairs):
    """Prints the mean PSNR of pairs before and after a function from [N,1,H,W] to [N,1,H,W]."""
    before = np.mean([psnr(enlarged, original) for enlarged, original in pairs])
    after = []
    for start in range(0, len(pairs), 64):
        part = pairs[start:start + 64]
        luma = np.stack([enlarged for enlarged, _ in part])[:, None].astype(np.float32) / 255
        after += [psnr(to_bytes(output), original)
                  for output, (_, original) in zip(network(luma)[:, 0], part)]
    print(f"  {name}: bicubic {before:.2f} dB, network {np.mean(after):.2f} dB, "
          f"{np.mean(after) - before:+.2f} dB", flush=True)


def make_batch(pairs, weights, size, rng):
    """Returns patches of randomly chosen pairs, turned and mirrored, as [N,1,CROP,CROP]."""
    patches = []
    for index in rng.choice(len(pairs), size=size, p=weights):
        height, width = pairs[index][0].shape
        top, left = rng.integers(height - CROP + 1), rng.integers(width - CROP + 1)
        both = np.stack([a[top:top + CROP, left:left + CROP] for a in pairs[index]])
        both = np.rot90(both, rng.integers(4), (1, 2))
        patches.append(both[:, :, ::-1] if rng.integers(2) else both)
    batch = np.stack(patches).astype(np.float32) / 255
    return batch[:, :1], batch[:, 1:]


def train(args):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Vdsr(nn.Module):
        def __init__(self):
            super().__init__()
            widths = [1] + [CHANNELS] * (DEPTH - 1) + [1]
            self.convolutions = nn.ModuleList(
                nn.Conv2d(cin, cout, 3, padding=1) for cin, cout in zip(widths, widths[1:]))
            for layer in self.convolutions:
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)
            # Learning begins near bicubic interpolation.
            self.convolutions[-1].weight.data *= 0.1

        def forward(self, luma):
            x = luma
            for layer in self.convolutions[:-1]:
                x = F.relu(layer(x))
            return luma + self.convolutions[-1](x)

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(args.seed)
    pairs = []
    for name, factor in TRAINING.items():
        image = shrink(read_luma(os.path.join(args.packages, name)), factor)
        sizes = [shrink(image, scale) for scale in SCALES]
        pairs += [make_pair(image) for image in sizes if min(image.size) > CROP]
    weights = np.array([float(original.size) for _, original in pairs])
    weights /= weights.sum()
    held_out = [(os.path.basename(name), [make_pair(read_luma(os.path.join(args.packages, name)))])
                for name in HELD_OUT]

    model = Vdsr().to(memory_format=torch.channels_last)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(TRAINING)} photographs",
          flush=True)

    def network(luma):
        with torch.no_grad():
            return model(torch.from_numpy(luma)).numpy()

    optimiser = torch.optim.Adam(model.parameters(), lr=args.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, args.rate, total_steps=args.steps,
                                                   pct_start=0.1)
    start, total, last = time.time(), 0.0, 0
    for step in range(1, args.steps + 1):
        enlarged, original = (torch.from_numpy(a) for a in make_batch(pairs, weights, args.batch,
                                                                      rng))
        loss = F.l1_loss(model(enlarged), original)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        total += float(loss)
        if step % 500 == 0 or step == args.steps:
            print(f"step {step}: loss {total / (step - last):.5f}, {time.time() - start:.0f} s",
                  flush=True)
            for name, pair in held_out:
                report(name, network, pair)
            total, last = 0.0, step

    model = model.to(memory_format=torch.contiguous_format)
    torch.onnx.export(model, torch.zeros(1, 1, SIZE, SIZE), args.out, opset_version=13,
                      input_names=["luma"], output_names=["enlarged"])
    annotate(args.out)
    luma = held_out[0][1][0][0][None, None, :SIZE, :SIZE].astype(np.float32) / 255
    difference = np.abs(evaluate(onnx.load(args.out), luma) - network(luma)).max()
    print(f"{args.out}: NumPy and PyTorch differ by at most {difference:.1e}")
    assert difference < 1e-5


def annotate(path):
    """Names the graph, and states in it how pixels become inputs, so that commands need no flag."""
    proto = onnx.load(path)
    proto.graph.name = "vdsr5"
    del proto.metadata_props[:]
    entry = proto.metadata_props.add()
    entry.key, entry.value = "kiln.preprocess", "scale=1/255"
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, path)


def evaluate(proto, luma):
    """Returns the output of a network of Conv (3x3, pad 1), Relu and Add nodes in fp32."""
    values = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    values[proto.graph.input[0].name] = luma
    for node in proto.graph.node:
        x = [values[name] for name in node.input]
        if node.op_type == "Conv":
            values[node.output[0]] = convolve(*x)
        elif node.op_type == "Relu":
            values[node.output[0]] = np.maximum(x[0], 0)
        elif node.op_type == "Add":
            values[node.output[0]] = x[0] + x[1]
        else:
            raise ValueError(f"{node.op_type}: only Conv, Relu and Add are evaluated")
    return values[proto.graph.output[0].name]


def convolve(x, weights, bias):
    height, width = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((x.shape[0], weights.shape[0], height * width), np.float32)
    for dy in range(3):
        for dx in range(3):
            window = padded[:, :, dy:dy + height, dx:dx + width].reshape(*x.shape[:2], -1)
            y += np.matmul(weights[:, :, dy, dx], window)
    return y.reshape(*y.shape[:2], height, width) + bias[:, None, None]


def cut(image, left, top):
    return image.crop((left, top, left + SIZE, top + SIZE))


def measure(args):
    proto = onnx.load(args.model)
    for path in args.images:
        images = read_cifar(path) if path.endswith(".bin") else [read_luma(path)]
        if args.centre:
            images = [cut(i, (i.width - SIZE) // 2, (i.height - SIZE) // 2) for i in images]
        report(os.path.basename(path), lambda luma: evaluate(proto, luma),
               [make_pair(image) for image in images])


def pair(args):
    enlarged, original = make_pair(cut(read_luma(args.photograph), args.left, args.top))
    Image.fromarray(original).save(args.prefix + "_original.pgm")
    Image.fromarray(enlarged).save(args.prefix + "_bicubic.pgm")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train", help="train the network and export it")
    command.add_argument("--out", default="models/vdsr5.onnx")
    command.add_argument("--packages", default=PACKAGES,
                         help="the folder that contains skimage and scipy (default: %(default)s)")
    command.add_argument("--steps", type=int, default=2000)
    command.add_argument("--batch", type=int, default=16)
    command.add_argument("--rate", type=float, default=2e-3)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--threads", type=int, default=2)
    command.set_defaults(run=train)
    command = commands.add_parser("measure", help="print the PSNR of bicubic and of the network")
    command.add_argument("model")
    command.add_argument("images", nargs="+", metavar="IMAGE")
    command.add_argument("--centre", action="store_true",
                         help=f"measure the {SIZE}x{SIZE} pixels in the middle")
    command.set_defaults(run=measure)
    command = commands.add_parser("pair", help="write an original and its bicubic enlargement")
    command.add_argument("photograph")
    command.add_argument("left", type=int)
    command.add_argument("top", type=int)
    command.add_argument("prefix")
    command.set_defaults(run=pair)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
