"""Networks with weights of -1 and +1: layers to train with PyTorch, and their export to ONNX.

A network is a list of nodes that a `Layers` object collects. `Network` computes it with PyTorch,
quantised: gradients pass through every rounding unchanged where the value was in range (Y. Bengio,
N. Léonard, A. Courville, "Estimating or Propagating Gradients Through Stochastic Neurons", 2013).
`export` writes the same network as ONNX.

  weights       "binary": the sign of a real number times one scale per output channel; "int8":
                whole numbers from -127 to 127 times one scale per output channel
  activations   whole numbers from 0 to 2^bits - 1 times a power of two, or -1 and +1 (bits = 1)

Batch normalisation is folded: its factor into the channel's scale, its sign into the channel's
weights, its offset into the bias. In the file, weights are int8 tensors. Binary ones pass through
Cast and QONNX's BipolarQuant, 8-bit ones through DequantizeLinear; activations pass through QONNX's
Quant or BipolarQuant.
"""
import dataclasses

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

QONNX = "qonnx.custom_op.general"
EPSILON = 1e-5  # of batch normalisation
IMAGE_SCALE = 1 / 256  # Pixels are the codes of the input.


@dataclasses.dataclass
class Node:
    name: str
    op: str
    inputs: list
    shape: tuple  # without the batch
    options: dict


class Layers:
    """Collects a network's nodes. Every method returns the name of the value that it adds."""

    def __init__(self, shape):
        self.nodes = [Node("image", "input", [], tuple(shape), {})]
        self.output = "image"

    def shape(self, name):
        return next(node.shape for node in self.nodes if node.name == name)

    def add(self, name, op, inputs, shape, **options):
        assert all(node.name != name for node in self.nodes), name
        self.nodes.append(Node(name, op, inputs, tuple(shape), options))
        self.output = name
        return name

    def conv(self, x, name, channels, kernel, stride=1, pad=None, weights="binary", norm=True):
        """A convolution; `norm` chooses batch normalisation and its absence a bias."""
        cin, height, width = self.shape(x)
        pad = kernel // 2 if pad is None else pad
        size = lambda length: (length + 2 * pad - kernel) // stride + 1
        return self.add(name, "conv", [x], (channels, size(height), size(width)), cin=cin,
                        kernel=kernel, stride=stride, pad=pad, weights=weights, norm=norm)

    def dense(self, x, name, channels, weights="binary", norm=True):
        """A matrix product with the same choices as `conv`."""
        return self.add(name, "dense", [x], (channels,), cin=self.shape(x)[0], weights=weights,
                        norm=norm)

    def relu(self, x, bits=8, limit=4.0):
        """ReLU and its codes: `limit` is 2^bits times the scale. One bit gives -1 and +1."""
        if bits == 1:
            return self.add(x + "_sign", "sign", [x], self.shape(x))
        x = self.add(x + "_relu", "relu", [x], self.shape(x))
        return self.quant(x, bits, limit)

    def quant(self, x, bits=8, limit=1.0):
        return self.add(x + "_codes", "quant", [x], self.shape(x), bits=bits,
                        scale=limit / 2 ** bits)

    def total(self, a, b, name):
        assert self.shape(a) == self.shape(b), (a, b)
        return self.add(name, "add", [a, b], self.shape(a))

    def concat(self, values, name):
        channels = sum(self.shape(x)[0] for x in values)
        return self.add(name, "concat", values, (channels, *self.shape(values[0])[1:]))

    def max_pool(self, x, name, kernel=2, stride=2):
        channels, *plane = self.shape(x)
        return self.add(name, "max_pool", [x],
                        (channels, *((length - kernel) // stride + 1 for length in plane)),
                        kernel=kernel, stride=stride)

    def enlarge(self, x, name):
        channels, height, width = self.shape(x)
        return self.add(name, "enlarge", [x], (channels, 2 * height, 2 * width))

    def mean(self, x, name):
        """The mean over the plane, as a vector."""
        return self.add(name, "mean", [x], self.shape(x)[:1])

    def flatten(self, x, name):
        return self.add(name, "flatten", [x], (int(np.prod(self.shape(x))),))


class Codes(torch.autograd.Function):
    """max(x, 0) rounded to codes; the gradient passes where x is between the outermost codes."""

    @staticmethod
    def forward(ctx, x, scale, most):
        ctx.save_for_backward(x)
        ctx.most = most * scale
        return (x * (1 / scale)).round_().clamp_(0, most).mul_(scale)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ((x >= 0) & (x <= ctx.most)), None, None


class Sign(torch.autograd.Function):
    """+1 where x >= 0, else -1; the gradient passes where |x| <= 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (x.abs() <= 1)


def weight_codes(weight, kind):
    """Returns the codes of real weights, and the codes' scales: one for each output channel."""
    if kind == "binary":
        fan_in = weight[0].numel()
        return torch.where(weight >= 0, 1.0, -1.0), torch.full((len(weight),), fan_in ** -0.5)
    scale = weight.flatten(1).abs().amax(1).clamp_min(1e-6) / 127
    return (weight / per_channel(scale, weight)).round(), scale


def per_channel(values, like):
    return values.reshape(-1, *[1] * (like.dim() - 1))


class Weighted(nn.Module):
    """A convolution or matrix product with quantised weights, then normalisation or a bias."""

    def __init__(self, node):
        super().__init__()
        self.op, self.options = node.op, node.options
        cout, cin, kernel = node.shape[0], node.options["cin"], node.options.get("kernel")
        shape = (cout, cin, kernel, kernel) if node.op == "conv" else (cout, cin)
        bound = 0.1 if self.binary else (3 / np.prod(shape[1:])) ** 0.5
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        if node.options["norm"]:
            self.norm = (nn.BatchNorm2d if node.op == "conv" else nn.BatchNorm1d)(cout, EPSILON)
        else:
            self.bias = nn.Parameter(torch.zeros(cout))

    @property
    def binary(self):
        return self.options["weights"] == "binary"

    def forward(self, x):
        with torch.no_grad():
            codes, scale = weight_codes(self.weight, self.options["weights"])
            quantised = codes * per_channel(scale, codes)
        weight = quantised + (self.weight - self.weight.detach())
        if self.op == "conv":
            x = F.conv2d(x, weight, None, self.options["stride"], self.options["pad"])
        else:
            x = F.linear(x, weight)
        if self.options["norm"]:
            return self.norm(x)
        return x + (self.bias[:, None, None] if self.op == "conv" else self.bias)

    def folded(self):
        """Returns int8 codes, one scale and one bias for each output channel, as NumPy arrays."""
        with torch.no_grad():
            codes, scale = weight_codes(self.weight, self.options["weights"])
            if not self.options["norm"]:
                bias = self.bias.detach()
            else:
                norm = self.norm
                factor = norm.weight / torch.sqrt(norm.running_var + EPSILON)
                bias = norm.bias - norm.running_mean * factor
                codes = codes * per_channel(torch.where(factor >= 0, 1.0, -1.0), codes)
                scale = (scale * factor.abs()).clamp_min(1e-12)
        return codes.numpy().astype(np.int8), scale.numpy(), bias.numpy()


class Network(nn.Module):
    """Computes the nodes of a `Layers`."""

    def __init__(self, layers):
        super().__init__()
        self.nodes, self.output = layers.nodes, layers.output
        self.weighted = nn.ModuleDict(
            {node.name: Weighted(node) for node in self.nodes if node.op in ("conv", "dense")})
        last = {}
        for at, node in enumerate(self.nodes):
            for name in node.inputs:
                last[name] = at
        self.dead = [[name for name in set(node.inputs) if last[name] == at]
                     for at, node in enumerate(self.nodes)]

    def forward(self, image):
        values = {"image": image}
        for node, dead in zip(self.nodes[1:], self.dead[1:]):
            values[node.name] = self.compute(node, [values[name] for name in node.inputs])
            for name in dead:
                del values[name]
        return values[self.output]

    def compute(self, node, x):
        if node.name in self.weighted:
            return self.weighted[node.name](*x)
        if node.op == "relu":
            return x[0]  # The codes that follow are never negative.
        if node.op == "quant":
            return Codes.apply(x[0], node.options["scale"], 2 ** node.options["bits"] - 1)
        if node.op == "sign":
            return Sign.apply(x[0])
        if node.op == "add":
            return x[0] + x[1]
        if node.op == "concat":
            return torch.cat(x, 1)
        if node.op == "max_pool":
            return F.max_pool2d(x[0], node.options["kernel"], node.options["stride"])
        if node.op == "enlarge":
            return F.interpolate(x[0], scale_factor=2, mode="nearest")
        if node.op == "mean":
            return x[0].mean((2, 3))
        assert node.op == "flatten", node.op
        return x[0].flatten(1)

    def clip(self):
        """Keeps the real numbers behind binary weights between -1 and 1, where signs can change."""
        with torch.no_grad():
            for layer in self.weighted.values():
                if layer.binary:
                    layer.weight.clamp_(-1, 1)

    def settle(self, count=4, batch=4):
        """Without training: lets normalisation see the ranges that random images give."""
        norms = [layer.norm for layer in self.weighted.values() if layer.options["norm"]]
        for norm in norms:
            norm.momentum = None  # the mean over all batches
        self.train()
        with torch.no_grad():
            for _ in range(count):
                self(torch.rand(batch, *self.nodes[0].shape))

    def count_weights(self):
        return sum(layer.weight.numel() for layer in self.weighted.values())


class Writer:
    """Collects nodes and initialisers of an ONNX graph."""

    def __init__(self):
        self.nodes, self.tensors = [], []

    def tensor(self, name, array):
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain,
                                           **attributes))
        return output

    def scalar(self, value):
        name = f"constant_{value:g}"
        if all(tensor.name != name for tensor in self.tensors):
            self.tensor(name, np.float32(value))
        return name

    def weights(self, name, layer):
        """Writes the weights of a layer; returns the names of the values of weights and bias."""
        codes, scale, bias = layer.folded()
        stored = self.tensor(name + "_weight_codes", codes)
        self.tensor(name + "_bias", bias.astype(np.float32))
        if layer.binary:
            signs = self.node("Cast", [stored], name + "_weight_signs", to=TensorProto.FLOAT)
            scales = self.tensor(name + "_weight_scale",
                                 scale.astype(np.float32).reshape(-1, *[1] * (codes.ndim - 1)))
            self.node("BipolarQuant", [signs, scales], name + "_weight", QONNX)
        else:
            scales = self.tensor(name + "_weight_scale", scale.astype(np.float32))
            self.node("DequantizeLinear", [stored, scales], name + "_weight", axis=0)
        return name + "_weight", name + "_bias"

    def layer(self, node, network):
        """Writes one node of a network."""
        options, name = node.options, node.name
        if node.op == "conv":
            self.node("Conv", [*node.inputs, *self.weights(name, network.weighted[name])], name,
                      kernel_shape=[options["kernel"]] * 2, strides=[options["stride"]] * 2,
                      pads=[options["pad"]] * 4)
        elif node.op == "dense":
            self.node("Gemm", [*node.inputs, *self.weights(name, network.weighted[name])], name,
                      transB=1)
        elif node.op == "quant":
            self.node("Quant", [*node.inputs, self.scalar(options["scale"]), self.scalar(0),
                                self.scalar(options["bits"])], name, QONNX, signed=0, narrow=0,
                      rounding_mode="ROUND")
        elif node.op == "sign":
            self.node("BipolarQuant", [*node.inputs, self.scalar(1)], name, QONNX)
        elif node.op == "max_pool":
            self.node("MaxPool", node.inputs, name, kernel_shape=[options["kernel"]] * 2,
                      strides=[options["stride"]] * 2)
        elif node.op == "enlarge":
            scales = "enlarge_scales"
            if all(tensor.name != scales for tensor in self.tensors):
                self.tensor(scales, np.array([1, 1, 2, 2], np.float32))
            self.node("Resize", [*node.inputs, "", scales], name, mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        elif node.op == "mean":
            pooled = self.node("GlobalAveragePool", node.inputs, name + "_plane")
            self.node("Flatten", [pooled], name)
        elif node.op == "concat":
            self.node("Concat", node.inputs, name, axis=1)
        else:
            self.node({"relu": "Relu", "add": "Add", "flatten": "Flatten"}[node.op], node.inputs,
                      name)


def export(network, path, title, metadata=None):
    """Writes the network to `path` as ONNX with a free batch. Inputs are pixels over 256."""
    network.eval()
    writer = Writer()
    for node in network.nodes[1:]:
        writer.layer(node, network)
    value = lambda node: helper.make_tensor_value_info(node.name, TensorProto.FLOAT,
                                                       ["batch", *node.shape])
    graph = helper.make_graph(writer.nodes, title, [value(network.nodes[0])],
                              [value(network.nodes[-1])], writer.tensors)
    model = helper.make_model(graph, producer_name="kiln", ir_version=7, opset_imports=[
        helper.make_opsetid("", 13), helper.make_opsetid(QONNX, 1)])
    for key, text in {"kiln.preprocess": "scale=1/256", **(metadata or {})}.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, text
    onnx.save(model, path)
    print(f"{path}: {network.count_weights()} weights, {model.ByteSize()} bytes", flush=True)
