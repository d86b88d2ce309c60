"""Points of the dataflow family for bench/area_grid: (top, parameters, rows, whether for checking).

Every point is one module by itself, without the modules inside it that have points of their own.
Memories of constants get random contents, the same in every run.
"""
import pathlib
import random

CONTENTS = pathlib.Path(__file__).resolve().parent.parent / "build/area_grid_contents"
WINDOW = ("kiln_dataflow_rows kiln_dataflow_reader kiln_dataflow_columns "
          "kiln_dataflow_pointwise")
SUMS = "kiln_dataflow_multiplier kiln_sum_tree"
CODES = "kiln_dataflow_requantise"
LANES = "kiln_dataflow_rom kiln_dataflow_scale kiln_dataflow_thresholds"


def written(file, words, bits):
    """Writes random words as $readmemh reads them."""
    CONTENTS.mkdir(parents=True, exist_ok=True)
    chance = random.Random(f"{file} {words} {bits}")
    lines = [f"{chance.getrandbits(bits):0{(bits + 3) // 4}x}\n" for _ in range(words)]
    (CONTENTS / file).write_text("".join(lines), encoding="ascii")


def text(path):
    """Returns a string as the Verilog constant that `kiln synth` takes."""
    name = str(path).encode("ascii")
    return f"{8 * len(name)}'h{name.hex()}"


def named(names, *rows):
    """Yields (parameters, whether for checking) from rows of numbers; "check" may end a row."""
    for row in rows:
        numbers = [int(word) for word in row.split() if word != "check"]
        yield dict(zip(names.split(), numbers, strict=True)), row.endswith("check")


def arithmetic():
    """Yields products, sums, maxima and the lanes of the requantisation."""
    for p, check in named("IN_BITS IN_SIGNED WEIGHT_BITS PACK LUT_PRODUCTS",
                          "8 1 8 1 0", "8 0 8 1 0", "16 1 16 1 0", "8 1 4 1 0", "4 0 8 1 0",
                          "12 1 12 1 0", "8 1 6 1 0 check", "16 1 8 1 0 check",
                          "6 0 8 1 0 check", "8 1 8 2 0", "8 0 8 2 0", "4 1 8 2 0", "8 1 4 2 0",
                          "6 1 6 2 0", "4 0 4 2 0", "8 1 6 2 0 check", "6 0 8 2 0 check",
                          "4 1 4 4 0", "4 0 4 4 0", "3 1 3 4 0", "5 1 3 4 0", "2 0 4 4 0",
                          "4 1 3 4 0 check", "3 0 4 4 0 check",
                          "4 1 4 1 1", "4 0 4 1 1", "2 0 2 1 1", "8 1 2 1 1", "2 1 8 1 1",
                          "3 0 4 1 1", "2 1 4 1 1 check", "5 1 3 1 1 check", "8 0 2 1 1 check",
                          "8 1 1 1 1", "2 0 1 1 1", "4 1 1 1 1 check"):
        yield "kiln_dataflow_multiplier", "", p, {}, check
    for p, check in named("TERMS BITS", "4 8", "9 16", "36 16", "9 8", "18 4", "16 16",
                          "27 16 check", "8 8 check", "25 12 check"):
        yield "kiln_sum_tree", "", p, {}, check
    for p, check in named("TERMS BITS IS_SIGNED", "4 8 1", "9 8 0", "9 4 1", "16 8 1",
                          "9 8 1 check", "4 4 0 check"):
        yield "kiln_dataflow_max_tree", "", p, {}, check
    for p, check in named("SUM_BITS C_BITS OUT_BITS SHIFT", "20 34 8 20", "16 28 8 16",
                          "24 40 4 22", "18 36 16 24", "30 46 8 26", "14 30 2 20",
                          "22 36 8 18 check", "26 42 8 24 check", "28 44 8 26 check"):
        yield "kiln_dataflow_scale", "", p, {}, check
    for p, check in named("SUM_BITS THRESHOLD_BITS OUT_BITS LEVELS WORDS", "16 16 4 4 4",
                          "12 12 2 2 1", "20 20 3 3 16", "14 14 4 4 32", "10 10 1 1 8",
                          "16 16 3 3 8 check", "12 12 4 4 2 check"):
        for level in range(p["LEVELS"]):
            written(f"thresholds{p['SUM_BITS']}_{level}_000.hex", p["WORDS"] << level,
                    p["THRESHOLD_BITS"])
        file = {"FILE": text(CONTENTS / f"thresholds{p['SUM_BITS']}")}
        yield "kiln_dataflow_thresholds", "kiln_dataflow_rom", p, file, check
    for p, check in named("LANES SUM_BITS OUT_BITS WAY WORDS LEVELS", "4 20 8 1 4 1",
                          "1 20 8 1 64 1", "4 16 16 0 1 1", "8 24 24 0 1 1", "4 16 4 2 4 4",
                          "8 12 2 2 32 2", "2 20 20 0 1 1 check", "2 14 3 2 16 3 check",
                          "8 20 8 1 16 1 check"):
        yield CODES, LANES, p, {}, check
    for p, check in named("WIDTH DEPTH", "64 4", "64 16", "288 8", "32 64", "69 32", "64 128",
                          "48 256", "8 256", "32 512", "72 16 check", "64 64 check",
                          "144 32 check", "16 256 check"):
        written(f"rom{p['WIDTH']}x{p['DEPTH']}.hex", p["DEPTH"], p["WIDTH"])
        file = {"FILE": text(CONTENTS / f"rom{p['WIDTH']}x{p['DEPTH']}.hex")}
        yield "kiln_dataflow_rom", "", p, file, check


def windows():
    """Yields the parts of windows."""
    for p, check in named("LANES CODE_BITS H W CG OH KY SY PT DY EXTRA_ROWS",
                          "1 8 28 28 1 28 3 1 1 1 0", "8 8 28 28 4 28 3 1 1 1 0",
                          "4 4 14 14 8 7 3 2 1 1 0", "2 8 200 200 1 200 5 1 2 1 0",
                          "4 8 16 16 1 8 2 2 0 1 0", "1 8 32 32 1 32 3 1 2 2 0",
                          "4 8 28 28 1 26 3 1 0 1 1", "16 8 32 32 2 32 3 1 1 1 0 check",
                          "4 8 56 56 4 56 3 1 1 1 0 check", "8 4 12 12 2 6 2 2 0 1 0 check"):
        yield "kiln_dataflow_rows", "", p, {}, check
    for p, check in named("W OH OW KX SX PL DX G OG IG", "28 28 28 3 1 1 1 1 1 1",
                          "28 28 28 3 1 1 1 1 8 4", "14 7 7 3 2 1 1 1 4 16",
                          "200 200 200 5 1 2 1 1 2 2", "16 8 8 2 2 0 1 1 1 8",
                          "32 32 32 3 1 2 2 4 2 2", "56 56 56 3 1 1 1 1 4 8 check",
                          "12 6 6 2 2 0 1 1 1 2 check", "32 16 16 5 2 2 1 1 16 8 check"):
        yield "kiln_dataflow_reader", "", p, {}, check
    for p, check in named("LANES CODE_BITS CG KY KX DX KEEP MASK", "2 8 1 3 3 1 0 1",
                          "2 8 4 3 3 1 0 1", "2 8 4 3 3 1 1 1", "1 8 1 3 3 1 1 1",
                          "4 4 8 3 3 1 1 0", "1 8 2 5 5 1 0 1", "4 8 16 2 2 1 0 0",
                          "1 8 4 3 3 2 1 1", "4 8 4 3 3 1 1 1 check", "2 4 8 2 2 1 1 0 check",
                          "4 8 1 3 3 1 0 1 check", "1 8 16 3 3 1 0 1 check"):
        yield "kiln_dataflow_columns", "", p, {}, check
    for p, check in named("WORD_WIDTH H W OH OW SY SX G OG IG", "8 1 1 1 1 1 1 1 1 64",
                          "32 28 28 28 28 1 1 1 4 4", "32 28 28 14 14 2 2 1 4 8",
                          "64 56 56 56 56 1 1 1 8 1", "16 14 14 14 14 1 1 1 8 32",
                          "16 1 1 1 1 1 1 1 5 16 check", "64 14 14 14 14 1 1 1 8 4 check",
                          "32 16 16 8 8 2 2 1 1 4 check"):
        yield "kiln_dataflow_pointwise", "", p, {}, check


def stages():
    """Yields stages without their windows, sums and requantisation, and stages of one module."""
    around = f"{WINDOW} {SUMS} {CODES} kiln_dataflow_rom"
    for p, check in named("KY KX PT PL LANES IG OG OUTPUTS RESULT_LANES ACC_BITS WAY PACK",
                          "1 1 0 0 2 2 2 2 1 20 1 1", "1 1 0 0 4 1 4 4 4 18 1 2",
                          "1 1 0 0 2 8 16 8 2 22 1 2", "1 1 0 0 1 4 1 2 2 24 1 1",
                          "3 3 1 1 1 2 2 2 1 20 1 1", "1 1 0 0 2 4 1 4 1 20 2 1 check",
                          "1 1 0 0 1 16 8 4 4 20 1 1 check", "3 3 1 1 1 1 4 2 2 20 1 1 check"):
        yield "kiln_dataflow_convolution", around, p, {}, check
    for p, check in named("KY KX PT PL LANES CG", "3 3 1 1 1 4", "2 2 0 0 1 64", "5 5 2 2 1 1",
                          "3 3 1 1 2 16 check"):
        yield "kiln_dataflow_depthwise", around, p, {"WAY": 0}, check
    for p, check in named("KY KX LANES CG", "2 2 1 4", "3 3 1 8", "2 4 1 4 check"):
        yield "kiln_dataflow_max_pool", WINDOW + " kiln_dataflow_max_tree", p, {}, check
    for p, check in named("PIXELS LANES CG IN_BITS IN_SIGNED", "49 1 64 8 1", "49 4 16 8 1",
                          "64 8 1 4 0", "16 8 8 8 0", "196 2 8 8 1 check",
                          "49 4 1 8 0 check"):
        yield "kiln_dataflow_global_sum", CODES, p, {"WAY": 0}, check
    for p, check in named("LANES INPUTS IN_BITS OTHER_BITS OUT_BITS M0 M1 C SHIFT",
                          "1 1 8 8 8 23451 0 32768 16", "1 2 8 8 8 23451 78787 8421504 16",
                          "2 2 8 8 8 77777 131071 123456789 17", "1 2 4 4 4 40503 58321 99999 15",
                          "1 2 8 8 8 1 1 0 0", "1 2 16 16 16 65536 99733 1048576 17",
                          "4 2 8 8 8 52429 104857 8388607 16 check",
                          "1 1 8 8 8 104857 0 65535 17 check",
                          "1 2 8 8 8 12345 6789 65535 14 check"):
        yield "kiln_dataflow_affine", "", p, {}, check
    for p, check in named("LANES", "1", "4", "8 check"):
        yield "kiln_dataflow_table", "kiln_dataflow_rom", p, {}, check
    for p, check in named("WIDTH W CG FY FX SPACE", "8 8 1 2 2 0", "64 28 4 2 2 0",
                          "32 14 16 2 2 1", "8 100 16 4 4 1", "32 16 8 2 2 0 check",
                          "16 28 8 2 2 1 check"):
        yield "kiln_dataflow_rearrange", "", p, {}, check


def connections():
    """Yields channels, what only moves words, and the control registers."""
    for p, check in named("WIDTH DEPTH MEMORY RESERVE MEASURE", "8 1 0 1 1", "8 2 0 1 1",
                          "64 2 0 1 1", "8 32 0 1 1", "32 8 0 4 1", "16 64 0 1 1", "128 4 0 1 1",
                          "32 4 0 1 1 check", "16 20 0 2 1 check", "64 9 0 1 1 check",
                          "8 100 1 1 1", "64 512 1 1 1", "32 2000 1 8 1", "128 70 1 1 1",
                          "32 300 1 1 1 check", "64 1000 1 2 1 check"):
        yield "kiln_dataflow_channel", "", p, {}, check
    for module in ("kiln_dataflow_source", "kiln_dataflow_sink"):
        for p, check in named("WIDTH", "8", "64", "32 check"):
            yield module, "", p, {}, check
    for p, check in named("WIDTH OUTPUTS", "8 2", "32 3", "16 2 check"):
        yield "kiln_dataflow_fork", "", p, {}, check
    for p, check in named("WIDTH INPUTS", "8 2", "64 2", "16 3", "32 2 check"):
        words = {"PIXEL_WORDS": f"{32 * p['INPUTS']}'h" + "00000003" * p["INPUTS"]}
        yield "kiln_dataflow_concat", "", p, words, check
    for p, check in named("WIDTH FACTOR", "8 2", "8 8", "32 4", "16 4 check", "8 3 check"):
        yield "kiln_dataflow_widen", "", p, {}, check
        yield "kiln_dataflow_narrow", "", p, {}, check
    for p, check in named("LANES CODE_BITS H W CG PT PB PL PR", "1 8 28 28 1 1 1 1 1",
                          "8 8 28 28 4 2 2 2 2", "4 8 7 7 16 1 1 1 1",
                          "4 8 56 56 2 1 1 1 1 check", "2 4 14 14 4 0 1 0 1 check"):
        yield "kiln_dataflow_pad", "", p, {}, check
    for p, check in named("WIDTH CG KEEP", "8 2 1", "64 16 10", "8 64 40", "16 5 3",
                          "32 20 17 check", "24 12 5 check"):
        yield "kiln_dataflow_crop", "", p, {}, check
    for p, check in named("IN_BEATS OUT_BEATS CHANNELS", "784 10 4", "196 10 12", "3072 10 48",
                          "40000 40000 8", "1024 100 24 check", "784 10 16 check"):
        yield "kiln_dataflow_control", "", p, {}, check
    for p, check in named("IN_BEATS OUT_BEATS CHANNELS STREAMS", "784 10 8 4",
                          "784 10 8 2 check"):
        yield "kiln_dataflow_control", "", p, {}, check


def weight_streams():
    """Yields the readers of weights that do not fit on the device."""
    for p, check in named("WIDTH WORDS DATA_BYTES OUTSTANDING", "72 16 16 32", "288 64 16 32",
                          "64 8 8 10", "576 256 32 18", "144 32 16 34 check", "96 16 8 20 check"):
        yield "kiln_dataflow_weight_stream", "", p, {}, check


def points():
    """Returns all points of the family."""
    return [(module, p | others, [(module, without, p)], check)
            for group in (arithmetic, windows, stages, connections,
                          weight_streams)
            for module, without, p, others, check in group()]
