"""Runs and tables that bench/area_grid and bench/machine_grid share."""
import csv
import json
import subprocess


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
