"""Runs and tables that the scripts of areas and clocks in bench/ share."""
import csv
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEMO = str(ROOT / "models/demo_fashion_mnist.onnx")


def read_rows(path):
    """Returns the rows of a grid, a csv file with comments; none if it does not exist."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def synthesise(args, *arguments):
    """Runs one `kiln synth` of what the arguments name; returns its JSON, or None and the reason.

    args has the program `kiln`, the folder `work` of scripts and netlists, and the seconds
    `timeout`, None for no limit.
    """
    command = [args.kiln, "synth", *arguments, "--json", "-", "--keep", str(args.work)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = run.communicate(timeout=args.timeout)
    except subprocess.TimeoutExpired:
        run.terminate()  # kiln ends the tools that it started
        run.communicate()
        return None, "not through in time"
    if run.returncode != 0:
        return None, errors.decode().strip()
    return json.loads(output), ""


def synthesise_point(args, point, design, *arguments):
    """Emits a design point with the demo into the folder `design`, and synthesises it.

    args and what is returned are those of synthesise.
    """
    done = subprocess.run([args.kiln, "compile", DEMO, "--on", str(point), "--emit", str(design)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return synthesise(args, str(design), *arguments)


def compiled(kiln, network, point, *arguments):
    """Returns the JSON of `kiln compile` of a network for a design point."""
    done = subprocess.run([kiln, "compile", str(network), "--on", str(point), *arguments, "--json",
                           "-"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)
