#!/usr/bin/env python3
"""Exports torchvision's classification networks to ONNX, with random weights of a fixed seed.

  bench/export_torchvision.py --list
  bench/export_torchvision.py FOLDER efficientnet_b0 vit_b_16    # FOLDER/efficientnet_b0.onnx, ...

Needs Debian's python3-torch, python3-torchvision and python3-onnx (/usr/bin/python3). Weights
cannot be downloaded, so networks keep torchvision's initial weights after torch.manual_seed(0):
shapes, operators and cycles are those of the trained network, results are not. Images are 224x224,
except for inception_v3 (299x299) and swin_v2_* (256x256, required by its windows). Networks of more
than 2 GB have their weights in files beside the ONNX file.
"""
import argparse
import os
import sys
import warnings


def names(torchvision):
    """Returns the names of torchvision's classification networks."""
    return sorted(torchvision.models.list_models(module=torchvision.models))


def size_of(name):
    """Returns the height and width of a network's images."""
    if name == "inception_v3":
        return 299
    return 256 if name.startswith("swin_v2") else 224


def export(torch, torchvision, name, folder, opset):
    """Writes FOLDER/NAME.onnx and returns its path."""
    torch.manual_seed(0)
    extra = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, weights=None, **extra).eval()
    size = size_of(name)
    path = os.path.join(folder, name + ".onnx")
    # In evaluation mode nn.MultiheadAttention calls an operator that ONNX lacks. The attention of
    # these networks has no dropout, so training mode computes the same.
    for module in model.modules():
        if isinstance(module, torch.nn.MultiheadAttention):
            module.training = True
    # ONNX's exporter lacks zero_, with which swin_v2_* clears the keys' biases.
    torch.Tensor.zero_ = lambda tensor: tensor.fill_(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, torch.zeros(1, 3, size, size), path, opset_version=opset,
                          input_names=["image"], output_names=["logits"],
                          training=torch.onnx.TrainingMode.PRESERVE)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="where the files are written")
    parser.add_argument("networks", nargs="*", help="torchvision's names; none: all")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--opset", type=int, default=16)
    arguments = parser.parse_args()
    try:
        import torch
        import torchvision
    except ImportError as error:
        sys.exit(f"export_torchvision: {error}; install python3-torch, python3-torchvision, "
                 f"python3-onnx and use "
                 "/usr/bin/python3")
    known = names(torchvision)
    if arguments.list:
        print("\n".join(known))
        return
    if arguments.folder is None:
        parser.error("a folder is needed")
    unknown = [name for name in arguments.networks if name not in known]
    if unknown:
        sys.exit(f"export_torchvision: '{unknown[0]}' is not a network of torchvision "
                 f"{torchvision.__version__}; "
                 "--list prints them")
    os.makedirs(arguments.folder, exist_ok=True)
    for name in arguments.networks or known:
        print(export(torch, torchvision, name, arguments.folder, arguments.opset), flush=True)


if __name__ == "__main__":
    main()
