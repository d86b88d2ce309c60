#!/usr/bin/env python3
"""Exports BERT to ONNX, with random weights, inputs, and PyTorch's outputs for them.

The network is written in plain PyTorch. Its architecture is that of Devlin et al., arXiv
1810.04805: token, position and type embeddings; layers of multi-head attention and a GELU
feed-forward network, each with a residual connection and layer normalisation; and a classifier on
the pooled first token. Weights are drawn from a fixed seed. The two inputs, input_ids and
attention_mask, are int64 [batch, tokens].

    bench/export_bert.py FOLDER              BERT-base: 12 layers, width 768, vocabulary of 30522
    bench/export_bert.py FOLDER --small      2 layers, width 32: tests/data/bert_small
    bench/export_bert.py FOLDER --dynamic    batch and tokens are symbols in the file

Writes NAME.onnx, NAME_inputs.npz (input_ids, attention_mask), NAME_outputs.npz (logits, pooled),
and each array also as an ONNX tensor file: NAME_logits.pb and so on. Needs Debian's python3-torch,
python3-onnx and python3-numpy.
"""
import argparse
import math
import pathlib

import numpy
import onnx.numpy_helper
import torch
from torch import nn


class Embeddings(nn.Module):
    """Sums of token, position and type embeddings, normalised."""
    def __init__(self, vocabulary, width, positions, types):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(positions, width)
        self.kind = nn.Embedding(types, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)
        types = torch.zeros_like(ids)
        return self.norm(self.word(ids) + self.position(positions) + self.kind(types))


class Attention(nn.Module):
    """Multi-head self-attention with residual connection and normalisation."""
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def split(self, x):
        """Splits the last axis into heads: [batch, heads, tokens, size]."""
        return x.view(x.shape[0], x.shape[1], self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query, key = self.split(self.query(x)), self.split(self.key(x))
        value = self.split(self.value(x))
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.size) + mask
        mixed = (torch.softmax(scores, dim=-1) @ value).permute(0, 2, 1, 3).contiguous()
        return self.norm(self.output(mixed.view(x.shape)) + x)


class Layer(nn.Module):
    """Attention followed by a GELU feed-forward network."""
    def __init__(self, width, heads, inner):
        super().__init__()
        self.attention = Attention(width, heads)
        self.expand, self.contract = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.norm(self.contract(nn.functional.gelu(self.expand(x))) + x)


class Bert(nn.Module):
    """The encoder, a pooler on the first token, and a classifier."""
    def __init__(self, layers, width, heads, inner, vocabulary, positions, classes):
        super().__init__()
        self.embeddings = Embeddings(vocabulary, width, positions, 2)
        self.layers = nn.ModuleList(Layer(width, heads, inner) for _ in range(layers))
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, input_ids, attention_mask):
        mask = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
        x = self.embeddings(input_ids)
        for layer in self.layers:
            x = layer(x, mask)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return self.classifier(pooled), pooled


def initialise(module):
    """Initialises a module as BERT does, norms and biases off their defaults."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        module.weight.data.normal_(0, 0.05 if module.weight.numel() > 1 << 14 else 0.3)
    if isinstance(module, nn.Linear):
        module.bias.data.normal_(0, 0.02)
    if isinstance(module, nn.LayerNorm):
        module.weight.data.normal_(1, 0.1)
        module.bias.data.normal_(0, 0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--tokens", type=int, help="tokens of a sequence; default 128, small 16")
    parser.add_argument("--sequences", type=int, default=4,
                        help="sequences of the inputs; default 4")
    parser.add_argument("--opset", type=int, default=14)
    arguments = parser.parse_args()
    torch.manual_seed(14)
    small = arguments.small
    vocabulary = 100 if small else 30522
    tokens = arguments.tokens or (16 if small else 128)
    shape = (2, 32, 4, 64, vocabulary, 32, 3) if small else (12, 768, 12, 3072, vocabulary, 512, 3)
    model = Bert(*shape).eval()
    model.apply(initialise)
    name = "bert_small" if small else "bert_base"

    generator = torch.Generator().manual_seed(15)
    ids = torch.randint(0, vocabulary, (arguments.sequences, tokens), generator=generator)
    lengths = torch.randint(tokens // 2, tokens + 1, (arguments.sequences, 1), generator=generator)
    mask = (torch.arange(tokens) < lengths).to(torch.int64)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    axes = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        model, (ids[:1], mask[:1]), str(arguments.folder / f"{name}.onnx"),
        opset_version=arguments.opset, input_names=["input_ids", "attention_mask"],
        output_names=["logits", "pooled"], dynamic_axes={"input_ids": axes, "attention_mask": axes}
        if arguments.dynamic else None)
    with torch.no_grad():
        outputs = [model(ids[i:i + 1], mask[i:i + 1]) for i in range(arguments.sequences)]
    inputs = {"input_ids": ids.numpy(), "attention_mask": mask.numpy()}
    results = {"logits": torch.cat([logits for logits, _ in outputs]).numpy(),
               "pooled": torch.cat([pooled for _, pooled in outputs]).numpy()}
    numpy.savez(arguments.folder / f"{name}_inputs.npz", **inputs)
    numpy.savez(arguments.folder / f"{name}_outputs.npz", **results)
    for key, array in {**inputs, **results}.items():
        tensor = onnx.numpy_helper.from_array(array, key)
        (arguments.folder / f"{name}_{key}.pb").write_bytes(tensor.SerializeToString())


if __name__ == "__main__":
    main()
