"""Points of the binary family for bench/area_grid: (top, parameters, rows, whether for checking).

Every point is one module by itself, without the modules inside it that have points of their own.
"""

TREE = "kiln_sum_tree"
STAGE = ("kiln_binary_writer kiln_binary_walk kiln_binary_tables kiln_binary_column "
         "kiln_binary_requantise")
MACHINE = ("kiln_axi_stream_register kiln_binary_dispatch kiln_binary_pack kiln_deep_fifo "
           "kiln_binary_stage")


def named(names, *rows):
    """Yields (parameters, whether for checking) from rows of numbers; "check" may end a row."""
    for row in rows:
        numbers = [int(word) for word in row.split() if word != "check"]
        yield dict(zip(names.split(), numbers, strict=True)), row.endswith("check")


def tree(terms, bits):
    """Returns the row of a tree of adders that another point's synthesis contains."""
    return "kiln_sum_tree", "", {"TERMS": terms, "BITS": bits, "LEVELS_PER_REGISTER": 2}


def rows():
    """Yields what brings words to the tables, and the tables."""
    for p, check in named("CHANNELS GROUP ACTIVATION_BITS ROW_WORDS", "4 3 8 64", "8 3 8 128",
                          "16 3 8 16", "12 2 4 64", "6 4 16 256", "8 1 8 1024", "8 3 16 64 check",
                          "12 3 8 192 check"):
        yield "kiln_binary_writer", TREE, p, [tree(p["CHANNELS"], 5)], check
    for p, check in named("GROUP STEPS", "3 3", "1 1", "2 4", "6 16", "2 2 check", "4 3 check"):
        yield "kiln_binary_walk", "", p, [], check
    for p, check in named("CHANNELS GROUP STEPS ACTIVATION_BITS ROW_WORDS", "2 3 3 8 16",
                          "4 3 3 8 128", "8 3 2 8 64", "4 2 4 8 32", "6 2 2 4 64", "3 4 2 8 64",
                          "4 1 4 8 64", "2 3 1 16 64", "4 3 4 4 32 check",
                          "5 2 3 8 64 check"):
        yield "kiln_binary_tables", "", p, [], check


def columns():
    """Yields what looks up and what becomes of the sums."""
    for p, check in named("TABLES GROUP ACCUMULATOR_BITS COLUMN_DEPTH WEIGHT_WORDS", "4 3 28 4 8",
                          "12 3 28 8 64", "24 3 28 4 16", "6 2 24 8 32", "8 4 28 4 16",
                          "4 1 32 16 64", "9 3 28 16 32 check", "8 2 32 16 64 check",
                          "5 4 28 8 16 check"):
        bits = 1 + (15 * p["GROUP"]).bit_length()
        yield "kiln_binary_column", TREE, p, [tree(p["TABLES"], bits)], check
    for p, check in named("ACCUMULATOR_BITS ACTIVATION_BITS", "28 8", "24 4", "32 16",
                          "32 8 check"):
        yield "kiln_binary_requantise", "", p, [], check


def around():
    """Yields what is around the stages, then what is left of a stage and of the machine."""
    for p, check in named("WIDTH RATIO", "16 2", "64 1", "64 3", "8 4", "16 3 check"):
        yield "kiln_binary_pack", "", p, [], check
    for p, check in named("WIDTH DEPTH", "64 16", "64 128", "128 64", "64 640", "128 200 check"):
        yield "kiln_deep_fifo", "", p, [], check
    for p, check in named("DATA_BYTES", "8", "64", "16 check"):
        yield "kiln_axi_stream_register", "", p, [], check
    for p, check in named("STAGES BEAT_BITS CODE_BITS WORD_BEATS_0 WORD_BEATS_1 WORD_BEATS_2",
                          "1 64 54 1 1 1", "2 64 72 2 1 1", "3 128 432 4 2 1", "1 128 216 2 1 1",
                          "2 64 108 2 1 1 check"):
        yield "kiln_binary_dispatch", "", p, [], check
    names = "CHANNELS COLUMNS ACCUMULATOR_BITS COLUMN_DEPTH BEAT_BITS GROUP STEPS ACTIVATION_BITS"
    more = {"ROW_WORDS": 16, "WEIGHT_WORDS": 16}
    for p, check in named(names, "8 2 28 4 64 1 1 8", "16 2 28 4 128 1 1 8", "8 1 24 4 64 1 1 4",
                          "2 8 28 4 128 1 1 8", "4 4 24 4 64 1 1 4 check",
                          "2 1 28 8 64 1 4 8 check"):
        yield "kiln_binary_stage", STAGE, p | more, [], check
    for p, check in named(names + " COLUMNS_PER_REQUANTISER", "8 4 28 4 64 1 1 8 2",
                          "4 8 28 4 128 1 1 8 4", "8 4 24 4 64 1 1 4 4 check"):
        yield "kiln_binary_stage", STAGE, p | more, [], check
    more |= {"STEPS": 1, "COLUMN_DEPTH": 4, "SKIP_BEATS": 16}
    names = "STAGES CHANNELS_0 CHANNELS_1 CHANNELS_2 COLUMNS_0 COLUMNS_1 COLUMNS_2 GROUP BEAT_BYTES"
    for p, check in named(names, "1 8 8 8 2 2 2 1 8", "3 8 8 8 2 2 2 1 8", "2 16 16 16 2 2 2 1 16",
                          "2 8 8 8 2 2 2 1 8 check"):
        yield "kiln_binary", MACHINE, p | more, [], check


def points():
    """Returns all points of the family."""
    return [(module, p, [(module, without, p), *inner], check)
            for group in (rows, columns, around)
            for module, without, p, inner, check in group()]
