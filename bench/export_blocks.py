#!/usr/bin/env python3
"""Exports small sequence networks to ONNX, with random weights, inputs, and PyTorch's outputs.

    bench/export_blocks.py FOLDER            # FOLDER/NAME.onnx, NAME_inputs.npz, NAME_outputs.npz

  dtln            the first half of a network like DTLN for noise suppression (Westhausen, Meyer:
                  arXiv 2005.07551): two LSTMs whose states are an input and an output, and a mask
                  for the magnitudes of the spectrum
  llama           a decoder block of LLaMA (Touvron et al.: arXiv 2302.13971), spelt as its
                  implementation in the library transformers: RMSNorm, rotary embedding, causal
                  attention, SwiGLU; the angles are constants
  llama_positions the same; the positions are an input, and the angles are computed in the graph as
                  position * inverse frequency
  llama_arange    the same; the positions are counted in the graph

Weights and inputs are drawn from a fixed seed. Needs Debian's python3-torch and python3-numpy.
"""
import argparse
import math
import pathlib

import numpy
import torch
from torch import nn

TOKENS, WIDTH, HEADS, INNER = 6, 16, 2, 24
BINS, FRAMES, CELLS, LAYERS = 12, 3, 8, 2


class Dtln(nn.Module):
    """Masks magnitudes; the state is [1, layers, cells, 2], hidden and cell values last."""
    def __init__(self):
        super().__init__()
        self.lstms = nn.ModuleList(
            nn.LSTM(CELLS if i else BINS, CELLS, batch_first=True) for i in range(LAYERS))
        self.mask = nn.Linear(CELLS, BINS)

    def forward(self, magnitude, state):
        x, after = magnitude, []
        for i, lstm in enumerate(self.lstms):
            x, (hidden, cell) = lstm(x, (state[:, i:i + 1, :, 0], state[:, i:i + 1, :, 1]))
            after.append(torch.stack((hidden, cell), dim=-1))
        return magnitude * torch.sigmoid(self.mask(x)), torch.cat(after, dim=1)


class RmsNorm(nn.Module):
    """Divides by the root mean square over the last axis."""
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


def rotate_half(x):
    """Exchanges the halves of the last axis and negates the new first one."""
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Llama(nn.Module):
    """A decoder block. `angles` is "constant", "positions" or "arange"."""
    def __init__(self, angles):
        super().__init__()
        self.angles, self.size = angles, WIDTH // HEADS
        steps = torch.arange(0, self.size, 2, dtype=torch.float32) / self.size
        self.register_buffer("frequencies", 1.0 / 10000**steps)
        cos, sin = self.rotation(torch.arange(TOKENS).unsqueeze(0))
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH, bias=False)
                                                         for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, WIDTH, bias=False)
        self.before, self.between = RmsNorm(), RmsNorm()

    def rotation(self, positions):
        """Cosine and sine of the angles, [batch, 1, tokens, size]."""
        inverse = self.frequencies[None, :, None].float().expand(positions.shape[0], -1, 1)
        angles = (inverse @ positions[:, None, :].float()).transpose(1, 2)
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().unsqueeze(1), both.sin().unsqueeze(1)

    def attend(self, x, cos, sin):
        """Causal attention of all heads."""
        batch, tokens, _ = x.shape

        def split(y):
            return y.view(batch, tokens, HEADS, self.size).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        query = query * cos + rotate_half(query) * sin
        key = key * cos + rotate_half(key) * sin
        scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(self.size)
        scores = scores + torch.full((tokens, tokens), -1e4).triu(1)
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        mixed = torch.matmul(weights, value).transpose(1, 2).contiguous()
        return self.output(mixed.reshape(batch, tokens, WIDTH))

    def forward(self, x, positions=None):
        if self.angles == "constant":
            cos, sin = self.cos, self.sin
        else:
            if positions is None:
                positions = torch.arange(x.shape[1], device=x.device).unsqueeze(0)
            cos, sin = self.rotation(positions)
        x = x + self.attend(self.before(x), cos, sin)
        y = self.between(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def export(name, model, inputs, output_names, folder, samples):
    """Writes a network with `samples` samples of its inputs, and its outputs for them."""
    with torch.no_grad():
        for key, weights in model.named_parameters():
            weights.normal_(1.0 if weights.dim() == 1 and "weight" in key else 0.0, 0.25)
    model.eval()
    first = tuple(x[:1] for x in inputs.values())
    torch.onnx.export(model, first, str(folder / f"{name}.onnx"), opset_version=14,
                      input_names=list(inputs), output_names=output_names)
    with torch.no_grad():
        results = [model(*(x[i:i + 1] for x in inputs.values())) for i in range(samples)]
    results = [r if isinstance(r, tuple) else (r, ) for r in results]
    outputs = {key: torch.cat([r[i] for r in results]).numpy()
               for i, key in enumerate(output_names)}
    numpy.savez(folder / f"{name}_inputs.npz", **{k: x.numpy() for k, x in inputs.items()})
    numpy.savez(folder / f"{name}_outputs.npz", **outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=6)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    count = arguments.samples
    torch.manual_seed(16)
    export("dtln", Dtln(),
           {"magnitude": torch.rand(count, FRAMES, BINS),
            "state": torch.rand(count, LAYERS, CELLS, 2) * 2 - 1},
           ["masked", "next_state"], arguments.folder, count)
    for name, angles in (("llama", "constant"), ("llama_positions", "positions"),
                         ("llama_arange", "arange")):
        torch.manual_seed(17)
        inputs = {"x": torch.randn(count, TOKENS, WIDTH)}
        if angles == "positions":
            start = torch.arange(count).unsqueeze(1) * 400
            inputs["positions"] = torch.arange(TOKENS).unsqueeze(0) + start
        export(name, Llama(angles), inputs, ["y"], arguments.folder, count)


if __name__ == "__main__":
    main()
