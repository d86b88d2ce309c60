#!/usr/bin/env python3
"""Compiles torchvision's networks on both families and prints a table in Markdown.

  bench/torchvision_table.py FOLDER [NETWORK ...] [--on systolic-int8-16x16,vta-pynq] [--limit 30]
                             [--kiln build/bin/kiln]

Each FOLDER/NETWORK.onnx is compiled with ranges from one image of noise. A missing file is exported
first (bench/export_torchvision.py) and removed afterwards unless --keep. Cycles are the sum of the
kernels' schedules, as if they ran one after the other; on the systolic array, kernels overlap and
take less. Utilisation is the multiply-accumulates on the machine over those possible in these
cycles; the host share is a share of operations. Seconds are wall time and processor time of the
whole command. A command that takes longer than ten times --limit is stopped.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def compile_one(kiln, file, design, limit):
    """Returns the table's cells for one design point, and the message if the command failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        try:
            done = subprocess.run([kiln, "-q", "compile", file, "--on", design, "--random", "1",
                                   "--json", report],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  timeout=10 * limit)
        except subprocess.TimeoutExpired:
            return ["stopped", "", "", f"> {10 * limit}", ""], f"stopped after {10 * limit} s"
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode != 0:
            return ["refused", "", "", f"{seconds:.0f}",
                    f"{cpu:.0f}"], done.stderr.strip().splitlines()[-1]
        with open(report, encoding="utf-8") as text:
            run = json.load(text)
    kernels = [k for k in run["kernels"] if not k.get("host_reason")]
    cycles = sum(k["certificate"]["cost"] for k in kernels)
    macs = sum(k["macs"] for k in kernels)
    host = run["host_share"]
    peak = run["accelerator"]["peak_macs_per_cycle"]
    used = f"{100 * macs / peak / cycles:.1f} %" if cycles else "-"
    return [f"{cycles:,.0f}", used, f"{100 * host:.2f} %", f"{seconds:.0f}", f"{cpu:.0f}"], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--on", default="systolic-int8-16x16,vta-pynq")
    parser.add_argument("--limit", type=int, default=30, help="seconds that a compilation may take")
    parser.add_argument("--kiln", default="build/bin/kiln")
    parser.add_argument("--keep", action="store_true",
                        help="keep the files that this program exports")
    arguments = parser.parse_args()
    export = ["/usr/bin/python3", os.path.join(HERE, "export_torchvision.py")]
    networks = arguments.networks
    if not networks:
        networks = subprocess.run(export + ["--list"], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.split()
    designs = arguments.on.split(",")
    print("| network | "
          + " | ".join(f"{d}: cycles | utilisation | host share | seconds | of the processor"
                        for d in designs) + " |")
    print("|---|" + "---|" * (5 * len(designs)), flush=True)
    notes = []
    for name in networks:
        file = os.path.join(arguments.folder, name + ".onnx")
        exported = not os.path.exists(file)
        if exported and subprocess.run(export + [arguments.folder, name],
                                       stdout=subprocess.DEVNULL).returncode != 0:
            notes.append(f"{name}: not exported")
            continue
        cells = []
        for design in designs:
            row, message = compile_one(arguments.kiln, file, design, arguments.limit)
            cells += row
            if message:
                notes.append(f"{name} on {design}: {message}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        if exported and not arguments.keep:
            for part in os.listdir(arguments.folder):
                if part.startswith(name + ".onnx"):
                    os.remove(os.path.join(arguments.folder, part))
    for note in notes:
        print(note, file=sys.stderr)


if __name__ == "__main__":
    main()
