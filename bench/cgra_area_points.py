"""Points of the cgra family for bench/area_grid: (top, parameters, rows, whether for checking).

Every point is one module by itself, without the modules inside it that have points of their own.
"""

TILE = ("kiln_cgra_delay_line kiln_cgra_operand kiln_cgra_tile_memory kiln_cgra_lane "
        "kiln_cgra_link")


def named(names, *rows):
    """Yields (parameters, whether for checking) from rows of numbers; "check" may end a row."""
    for row in rows:
        numbers = [int(word) for word in row.split() if word != "check"]
        yield dict(zip(names.split(), numbers, strict=True)), row.endswith("check")


def tile():
    """Yields the parts of a tile, then what is left of it."""
    for p, check in named("FLOATS", "0", "1"):
        yield "kiln_cgra_lane", "", p, check
    for p, check in named("LANES LINES SPAN", "2 5 8", "4 5 16", "8 5 8", "2 9 8", "4 3 32",
                          "2 5 64", "4 5 8 check", "8 3 16 check", "2 7 32 check"):
        yield "kiln_cgra_operand", "", p, check
    for p, check in named("WIDTH THREAD_BITS WAIT_LIMIT", "64 5 7", "128 3 16", "64 5 32",
                          "256 4 4", "128 5 1", "64 8 64", "128 5 8 check", "64 4 16 check",
                          "256 5 7 check"):
        yield "kiln_cgra_delay_line", "", p, check
    for p, check in named("WIDTH THREAD_BITS REACH", "64 5 2", "128 3 2", "64 5 1", "128 5 4",
                          "256 4 1", "64 8 3", "128 5 2 check", "256 5 2 check", "64 4 4 check"):
        yield "kiln_cgra_link", "", p, check
    for p, check in named("WIDTH DEPTH THREAD_BITS", "64 64 5", "128 256 3", "64 512 5",
                          "256 64 4", "128 16 5", "64 1024 8", "128 64 5 check", "256 256 5 check",
                          "64 256 4 check"):
        yield "kiln_cgra_tile_memory", "", p, check
    # PRESENT is given: Yosys extends its default, '1, by zeros.
    for p, check in named("LANES REACH PRESENT RING WAIT_LIMIT",
                          "2 2 15 16 7", "4 2 15 32 16", "2 1 3 16 7", "2 2 15 16 3",
                          "4 3 63 16 7", "2 1 3 32 32", "2 3 63 16 16", "2 4 255 32 7",
                          "2 2 15 8 64", "2 2 15 16 15", "2 2 3 16 7", "2 2 7 32 15",
                          "4 1 3 8 16 check", "2 2 15 32 32 check", "4 2 15 8 7 check",
                          "2 3 63 64 7 check", "2 2 15 32 15 check", "2 4 255 16 16 check",
                          "2 2 12 16 16 check"):
        yield "kiln_cgra_tile", TILE, p | {"MEMORY_DEPTH": 64}, check


def around():
    """Yields what feeds the tiles and takes their results."""
    for p, check in named("LANES RING", "2 16", "4 16", "8 32", "2 64", "4 256", "8 8",
                          "16 32", "4 32 check", "8 16 check", "2 128 check", "16 16 check"):
        yield "kiln_cgra_dispatch", "", p, check
    for p, check in named("RING", "2", "8", "16", "64", "256", "4 check", "32 check",
                          "128 check"):
        yield "kiln_cgra_sequencer", "", p, check
    for p, check in named("TILES LANES OUTPUTS DEPTH", "4 2 4 16", "4 4 2 8", "8 2 4 16",
                          "16 2 2 16", "4 2 8 32", "4 8 2 4", "16 4 4 16", "8 2 8 8",
                          "8 4 2 16 check", "4 4 4 8 check", "16 2 1 8 check", "8 4 4 32 check",
                          "4 2 2 16 check"):
        yield "kiln_cgra_outputs", "", p, check
    for p, check in named("DATA_BYTES", "8", "16", "64", "24 check", "32 check"):
        yield "kiln_axi_stream_register", "", p, check


def points():
    """Returns all points of the family."""
    return [(module, p, [(module, without, p)], check)
            for group in (tile, around)
            for module, without, p, check in group()]
