#!/usr/bin/env python3
"""Trains an hourglass network with weights of -1 and +1 to find landmarks, and exports it to ONNX.

    /usr/bin/python3 models/train_hourglass.py train --out models/hourglass.onnx
    /usr/bin/python3 models/train_hourglass.py data --count 1000 --out FILE.npz
    /usr/bin/python3 models/train_hourglass.py score FILE.npz HEATS.npz
    /usr/bin/python3 models/train_hourglass.py shape --channels 144 --size 128 --out FILE.onnx

Needs Debian's python3-torch, python3-onnx and python3-pil; it downloads nothing. Images are drawn
from a seed: one arrow of any size, colour and direction among stars, polygons, lines and noise. The
landmarks are five of the arrow's corners: its tip, and the left and right ends of its head and of
its shaft. The network must see the whole arrow to tell left from right.

The network has a stem (3x3, stride 2, 8-bit weights), then parallel residual blocks in an hourglass
(A. Newell, K. Yang, J. Deng, "Stacked Hourglass Networks for Human Pose Estimation", ECCV 2016; A.
Bulat, G. Tzimiropoulos, "Binarized Convolutional Landmark Localizers for Human Pose Estimation and
Face Alignment with Limited Resources", ICCV 2017), then two 1x1 convolutions with 8-bit weights.
The output `heat` has one map for each landmark in half the image's resolution. Its softmax over the
plane is trained towards a Gaussian around the landmark.

`train` prints the score on 1000 images that it never learns from: the mean distance in pixels of
the map's peak from the landmark, and the share of landmarks whose distance is at most 2 pixels. A
peak at cell x, y stands for the pixel position (2x + 0.5, 2y + 0.5), moved by half a pixel towards
the greater neighbour in each direction. `score` computes the same of `kiln run --outputs`. `shape`
exports a network of other sizes without training.
"""
import argparse
import time

import numpy as np
from PIL import Image, ImageDraw

LANDMARKS = ["tip", "left_head", "right_head", "left_tail", "right_tail"]
MIRRORED = [0, 2, 1, 4, 3]  # what each landmark becomes in a mirror
SIZE = 64  # of the images
FINE = 4  # Shapes are drawn with so many points to a pixel, in both directions.
HELD_OUT = 7  # seed of the images for scores


def turned(points, angle, centre):
    cos, sin = np.cos(angle), np.sin(angle)
    return points @ np.array([[cos, sin], [-sin, cos]]) + centre


def colour(rng, away_from=None):
    """Returns a random colour, at least 90 levels in some channel away from another one."""
    while True:
        value = rng.integers(0, 256, 3)
        if away_from is None or np.abs(value - away_from).max() >= 90:
            return value


def star(rng):
    """Returns the corners of a star or a regular polygon."""
    count, inner = rng.integers(3, 7), rng.choice([0.4, 0.5, 0.6, 1.0])
    radius = rng.uniform(3, 8)
    angles = np.arange(2 * count) * np.pi / count + rng.uniform(0, 2 * np.pi)
    radii = radius * np.where(np.arange(2 * count) % 2, inner, 1)
    corners = np.stack([np.cos(angles), np.sin(angles)], 1) * radii[:, None]
    return (corners if inner < 1 else corners[::2]) + rng.uniform(0, SIZE, 2)


def arrow(rng):
    """Returns the seven corners of an arrow inside the image; five of them are the landmarks."""
    length, width = rng.uniform(22, 40), rng.uniform(14, 24)
    head, shaft = length * rng.uniform(0.35, 0.6), width * rng.uniform(0.25, 0.5)
    neck = length / 2 - head
    corners = np.array([[length / 2, 0], [neck, -width / 2], [neck, -shaft / 2],
                        [-length / 2, -shaft / 2], [-length / 2, shaft / 2], [neck, shaft / 2],
                        [neck, width / 2]])
    while True:
        points = turned(corners, rng.uniform(0, 2 * np.pi), rng.uniform(14, SIZE - 14, 2))
        if points.min() >= 2 and points.max() <= SIZE - 3:
            return points


def draw_image(rng):
    """Returns an image as uint8 [3,SIZE,SIZE] and its landmarks as (x, y) in pixels."""
    first, second = colour(rng), colour(rng)
    ramp = np.linspace(0, 0.5, SIZE)[:, None, None]
    ground = first * (1 - ramp) + second * ramp
    ground = np.broadcast_to(ground, (SIZE, SIZE, 3))
    if rng.integers(2):
        ground = ground.transpose(1, 0, 2)
    picture = Image.fromarray(np.rint(ground).astype(np.uint8)).resize(
        (SIZE * FINE, SIZE * FINE), Image.NEAREST)
    pen = ImageDraw.Draw(picture)
    fine = lambda points: [tuple(p) for p in ((points + 0.5) * FINE).tolist()]
    draw = lambda points, paint: pen.polygon(fine(points), fill=tuple(int(v) for v in paint))
    behind, before = rng.integers(2, 6), rng.integers(0, 2)
    for _ in range(behind):
        draw(star(rng), colour(rng))
    for _ in range(rng.integers(0, 4)):
        pen.line(fine(rng.uniform(0, SIZE, (2, 2))), tuple(int(v) for v in colour(rng)),
                 int(rng.integers(2, 7)))
    corners = arrow(rng)
    draw(corners, colour(rng, (first + second) / 2))
    for _ in range(before):  # a small one, which may hide a part of the arrow
        shape = star(rng)
        draw((shape - shape.mean(0)) * 0.5 + shape.mean(0), colour(rng))
    pixels = np.asarray(picture, np.float32).reshape(SIZE, FINE, SIZE, FINE, 3).mean((1, 3))
    pixels = pixels + rng.normal(0, rng.uniform(2, 14), pixels.shape)
    return (np.rint(np.clip(pixels, 0, 255)).astype(np.uint8).transpose(2, 0, 1),
            corners[[0, 1, 6, 3, 4]].astype(np.float32))


def draw_images(count, seed):
    rng = np.random.default_rng(seed)
    images, points = zip(*(draw_image(rng) for _ in range(count)))
    return np.stack(images), np.stack(points)


def find_peaks(heat):
    """Returns the positions (x, y) in pixels of the maps' peaks, [N,landmarks,2]."""
    batch, maps, height, width = heat.shape
    at = heat.reshape(batch, maps, -1).argmax(2)
    y, x = at // width, at % width
    padded = np.pad(heat, ((0, 0), (0, 0), (1, 1), (1, 1)), "edge")
    image, landmark = np.indices((batch, maps))
    value = lambda dy, dx: padded[image, landmark, y + 1 + dy, x + 1 + dx]
    return np.stack([2 * x + 0.5 + 0.5 * np.sign(value(0, 1) - value(0, -1)),
                     2 * y + 0.5 + 0.5 * np.sign(value(1, 0) - value(-1, 0))], 2)


def print_score(heat, points):
    distance = np.linalg.norm(find_peaks(heat) - points, axis=2)
    print(f"{len(heat)} images: mean distance {distance.mean():.3f} pixels, "
          f"{100 * np.mean(distance <= 2):.2f} % of landmarks within 2 pixels", flush=True)


def make_layers(size, channels, depth):
    """Returns the network for images of size x size pixels."""
    from binary_net import Layers

    net = Layers((3, size, size))

    def block(x, name):
        """A parallel residual block: three convolutions, one after the other."""
        parts, before = [], x
        for part, divisor in (("a", 2), ("b", 4), ("c", 4)):
            before = net.relu(net.conv(before, f"{name}_{part}", channels // divisor, 3))
            parts.append(before)
        return net.quant(net.total(x, net.concat(parts, f"{name}_parts"), f"{name}_sum"), 8, 8.0)

    def hourglass(x, level, name):
        below = block(net.max_pool(x, f"{name}_down"), f"{name}_in")
        if level > 1:
            below = hourglass(below, level - 1, f"level{depth - level + 2}")
        below = net.enlarge(block(below, f"{name}_out"), f"{name}_up")
        return net.quant(net.total(block(x, f"{name}_skip"), below, f"{name}_sum"), 8, 8.0)

    x = net.quant("image")
    x = net.relu(net.conv(x, "stem", channels, 3, stride=2, weights="int8"))
    x = hourglass(block(x, "first"), depth, "level1")
    x = net.relu(net.conv(x, "head", channels, 1, weights="int8"))
    net.conv(x, "heat", len(LANDMARKS), 1, weights="int8", norm=False)
    return net


def make_batch(images, points, index, rng):
    """Returns images, mirrored and turned by multiples of 90 degrees, with their landmarks."""
    x, p, last = images[index], points[index], SIZE - 1
    if rng.integers(2):
        x, p = x[..., ::-1], (p * [-1, 1] + [last, 0])[:, MIRRORED]
    for _ in range(rng.integers(4)):  # x to the right and y downwards turn to y and last - x
        x, p = np.rot90(x, 1, (2, 3)), p[:, :, ::-1] * [1, -1] + [0, last]
    return np.ascontiguousarray(x), p


def make_targets(points, cells):
    """Returns Gaussians around points, a standard deviation of one cell, that sum to 1."""
    centres = 2 * np.arange(cells) + 0.5
    along = np.exp(-((points[..., None] - centres) / 2) ** 2 / 2)
    maps = along[:, :, 1, :, None] * along[:, :, 0, None, :]
    return (maps / maps.sum((2, 3), keepdims=True)).astype(np.float32)


def train(args):
    import torch
    from binary_net import Network, export
    from evaluate_onnx import OnnxNetwork
    from torch.nn import functional as F

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(args.seed)
    images, points = draw_images(args.images, args.seed)
    held_out, truth = draw_images(1000, HELD_OUT)
    assert args.seed != HELD_OUT
    network = Network(make_layers(SIZE, args.channels, args.depth))
    network = network.to(memory_format=torch.channels_last)
    print(f"{network.count_weights()} weights, {len(images)} images", flush=True)
    to_input = lambda x: (torch.from_numpy(x).float() / 256).contiguous(
        memory_format=torch.channels_last)

    def heat_of(x):
        network.eval()
        with torch.no_grad():
            heat = [network(to_input(x[i:i + 50])).numpy() for i in range(0, len(x), 50)]
        network.train()
        return np.concatenate(heat)

    optimiser = torch.optim.Adam(network.parameters(), lr=args.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, args.rate, total_steps=args.steps,
                                                   pct_start=0.1, final_div_factor=1000)
    start, total, last = time.time(), 0.0, 0
    for step in range(1, args.steps + 1):
        x, p = make_batch(images, points, rng.integers(len(images), size=args.batch), rng)
        heat = network(to_input(x)).flatten(2)
        target = torch.from_numpy(make_targets(p, SIZE // 2)).flatten(2)
        loss = -(target * F.log_softmax(heat, 2)).sum(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        network.clip()
        total += float(loss)
        if step % 200 == 0 or step == args.steps:
            print(f"step {step}: loss {total / (step - last):.4f}, {time.time() - start:.0f} s",
                  end=", ", flush=True)
            total, last = 0.0, step
            print_score(heat_of(held_out[:200]), truth[:200])
    network = network.to(memory_format=torch.contiguous_format)
    export(network, args.out, "hourglass")
    print_score(OnnxNetwork(args.out).in_parts(torch.from_numpy(held_out) / 256).numpy(), truth)


def write_data(args):
    images, points = draw_images(args.count, HELD_OUT)
    if args.out.endswith(".npy"):
        np.save(args.out, images)
    else:
        np.savez_compressed(args.out, image=images, landmarks=points)


def score(args):
    heat = np.load(args.outputs)["heat"]
    print_score(heat, np.load(args.data)["landmarks"][args.first:args.first + len(heat)])


def picture(args):
    """Draws images, and the heat maps of each file of outputs as one: the largest of all maps."""
    images = np.load(args.data)["image"]
    columns = [images[args.first + i].transpose(1, 2, 0).astype(float) for i in args.images]
    columns = [np.clip(255 * (c - c.min()) / (c.max() - c.min()), 0, 255) for c in columns]
    rows = [np.concatenate(columns, 1)]
    for path in args.outputs:
        heat = np.load(path)["heat"][args.images]
        heat = np.exp(heat - heat.max((2, 3), keepdims=True)).max(1)
        rows.append(np.concatenate([np.kron(h, np.ones((2, 2)))[..., None].repeat(3, 2) * 255
                                    for h in heat], 1))
    pixels = np.concatenate(rows, 0).astype(np.uint8)
    picture_of = Image.fromarray(pixels)
    picture_of.resize((2 * pixels.shape[1], 2 * pixels.shape[0]), Image.NEAREST).save(args.out)


def shape(args):
    import torch
    from binary_net import Network, export

    torch.manual_seed(1)
    network = Network(make_layers(args.size, args.channels, args.depth))
    network.settle()
    export(network, args.out, "hourglass")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train", help="train the network and export it")
    command.add_argument("--out", default="models/hourglass.onnx")
    command.add_argument("--channels", type=int, default=48)
    command.add_argument("--depth", type=int, default=3)
    command.add_argument("--images", type=int, default=8000)
    command.add_argument("--steps", type=int, default=6000)
    command.add_argument("--batch", type=int, default=16)
    command.add_argument("--rate", type=float, default=5e-3)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--threads", type=int, default=1)
    command.set_defaults(run=train)
    command = commands.add_parser("data", help="write images for scores, and their landmarks")
    command.add_argument("--out", required=True, metavar="FILE",
                         help=".npz, or .npy for the images alone")
    command.add_argument("--count", type=int, default=1000)
    command.set_defaults(run=write_data)
    command = commands.add_parser("score", help="score the outputs of `kiln run`")
    command.add_argument("data")
    command.add_argument("outputs")
    command.add_argument("--first", type=int, default=0, help="image of the first output")
    command.set_defaults(run=score)
    command = commands.add_parser("picture", help="draw heat maps of several files of outputs")
    command.add_argument("data")
    command.add_argument("outputs", nargs="+")
    command.add_argument("--first", type=int, default=0, help="image of the first output")
    command.add_argument("--images", type=int, nargs="+", default=[0, 1, 2, 3, 4, 5])
    command.add_argument("--out", required=True, metavar="FILE.png")
    command.set_defaults(run=picture)
    command = commands.add_parser("shape", help="export a network without training")
    command.add_argument("--out", required=True)
    command.add_argument("--channels", type=int, default=144)
    command.add_argument("--depth", type=int, default=3)
    command.add_argument("--size", type=int, default=128)
    command.set_defaults(run=shape)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
