"""Points of the VTA family for bench/area_grid: (top, parameters, rows, whether for checking).

Most points are small machines with rows for all their modules, so that one synthesis measures many
modules.
"""
import math

STAGE_UNITS = "kiln_vta_gemm kiln_vta_alu kiln_vta_accumulators"
MACHINE_UNITS = ("kiln_vta_compute_stage kiln_vta_reads kiln_axi_write_port kiln_vta_fetch "
                 "kiln_vta_load_stage kiln_vta_store_stage")

# Bits of inputs, weights and accumulators; (BATCH, BLOCK_IN, BLOCK_OUT); index bits of micro-ops,
# inputs, weights and accumulators; banks; bytes and latency of the memory port; queue depth; and
# the modules that are for checking.
SMALL, LARGE = (6, 6, 6, 6), (13, 11, 10, 11)
MACHINES = [
    (8, 8, 32, (1, 2, 4), SMALL, 4, 8, 32, 512, ()),
    (8, 8, 32, (1, 8, 4), LARGE, 4, 8, 32, 512, ("kiln_vta_dot", "kiln_vta_reads",
                                                 "kiln_vta_load_stage")),
    (8, 8, 32, (1, 2, 8), SMALL, 2, 16, 32, 64, ("kiln_vta",)),
]
# Machines of which only the compute stage and its units are measured.
STAGES = [
    (8, 8, 32, (1, 2, 16), SMALL, 4, 8, 32, 512,
     ("kiln_vta_gemm", "kiln_vta_alu", "kiln_vta_accumulators", "kiln_vta_compute_stage")),
]


def parts(machine):
    """Yields the modules of a machine: (module, modules left out, parameters)."""
    inputs, weights, accumulators, sizes, indices, banks, port, latency, depth, _ = machine
    batch, block_in, block_out = sizes
    uop_index, input_index, weight_index, accumulator_index = indices
    widths = {"INPUT_BITS": inputs, "WEIGHT_BITS": weights, "ACCUMULATOR_BITS": accumulators}
    blocks = {"BATCH": batch, "BLOCK_IN": block_in, "BLOCK_OUT": block_out}
    index_bits = {"UOP_INDEX_BITS": uop_index, "INPUT_INDEX_BITS": input_index,
                  "WEIGHT_INDEX_BITS": weight_index, "ACCUMULATOR_INDEX_BITS": accumulator_index}
    numbers = batch * block_out
    input_bytes, weight_bytes = batch * block_in * inputs // 8, block_out * block_in * weights // 8
    accumulator_bytes, output_bytes = numbers * accumulators // 8, numbers * inputs // 8
    longest = max(16, input_bytes, weight_bytes, accumulator_bytes)
    yield "kiln_vta_dot", "", {"INPUT_BITS": inputs, "WEIGHT_BITS": weights, "BLOCK_IN": block_in}
    yield "kiln_vta_gemm", "kiln_vta_dot", widths | blocks | index_bits
    yield "kiln_vta_alu", "", {"ACCUMULATOR_BITS": accumulators, "NUMBERS": numbers} | index_bits
    yield "kiln_vta_accumulators", "", {"ACCUMULATOR_BITS": accumulators, "OUTPUT_BITS": inputs,
                                        "NUMBERS": numbers, "INDEX_BITS": accumulator_index,
                                        "BANKS": banks}
    yield ("kiln_vta_compute_stage", STAGE_UNITS,
           widths | blocks | index_bits | {"ACCUMULATOR_BANKS": banks, "MAX_BYTES": longest})
    yield "kiln_vta_reads", "", {"MEMORY_PORT_BYTES": port, "MEMORY_LATENCY": latency,
                                 "MAX_BYTES": longest}
    yield "kiln_axi_write_port", "", {"ADDRESS_BITS": 32, "DATA_BYTES": port,
                                      "MAX_BYTES": output_bytes, "TAG_BITS": 34,
                                      "OUTSTANDING": latency + 2}
    yield "kiln_vta_fetch", "", index_bits | {"ACCUMULATOR_BANKS": banks,
                                              "INSTRUCTION_QUEUE_DEPTH": depth}
    yield "kiln_vta_load_stage", "", {"INPUT_BYTES": input_bytes, "WEIGHT_BYTES": weight_bytes,
                                      "BYTES_BITS": math.ceil(math.log2(longest + 1))}
    yield "kiln_vta_store_stage", "", {"OUTPUT_BYTES": output_bytes,
                                       "INDEX_BITS": accumulator_index}
    buffers = {"UOP_BUFFER_BYTES": 4 << uop_index, "INPUT_BUFFER_BYTES": input_bytes << input_index,
               "WEIGHT_BUFFER_BYTES": weight_bytes << weight_index,
               "ACCUMULATOR_BUFFER_BYTES": accumulator_bytes << accumulator_index}
    yield "kiln_vta", MACHINE_UNITS, widths | blocks | buffers | {"MEMORY_PORT_BYTES": port,
                                                                  "MEMORY_LATENCY": latency,
                                                                  "INSTRUCTION_QUEUE_DEPTH": depth,
                                                                  "ACCUMULATOR_BANKS": banks}


def of(top, parameters, rows, checks):
    """Yields a top with its rows in the form of bench/area_grid, split into fit and check rows."""
    for check in (False, True):
        chosen = [row for row in rows if (row[0] in checks) == check]
        if chosen:
            yield top, parameters, chosen, check


def machines():
    """Yields all machines, and compute stages on their own."""
    for machine in MACHINES:
        rows = list(parts(machine))
        yield from of("kiln_vta", rows[-1][2], rows, machine[-1])
    for machine in STAGES:
        rows = [row for row in parts(machine) if row[0] in STAGE_UNITS.split()
                + ["kiln_vta_compute_stage"]]
        yield from of("kiln_vta_compute_stage", rows[-1][2], rows, machine[-1])


def single_modules():
    """Yields the points of `modules`, each synthesised on its own."""
    for module, without, parameters, check in modules():
        yield module, parameters, [(module, without, parameters)], check


def modules():
    """Yields modules of sizes that no machine has: (module, left out, parameters, check?)."""
    yield "kiln_axi_write_port", "", {"ADDRESS_BITS": 32, "DATA_BYTES": 8, "MAX_BYTES": 16,
                                      "TAG_BITS": 34, "OUTSTANDING": 34}, True
    yield "kiln_vta_store_stage", "", {"OUTPUT_BYTES": 16, "INDEX_BITS": 11}, True
    yield "kiln_vta_load_stage", "", {"INPUT_BYTES": 16, "WEIGHT_BYTES": 256,
                                      "BYTES_BITS": 9}, False
    yield ("kiln_vta_fetch", "",
           {name + "_INDEX_BITS": 8 for name in ("UOP", "INPUT", "WEIGHT", "ACCUMULATOR")} |
           {"ACCUMULATOR_BANKS": 4, "INSTRUCTION_QUEUE_DEPTH": 128}, True)
    for inputs, weights, block, check in [(8, 8, 4, False), (8, 8, 16, True), (4, 4, 8, False),
                                          (16, 16, 4, False), (8, 4, 8, True), (2, 2, 8, False),
                                          (16, 8, 4, False), (16, 16, 8, True)]:
        yield "kiln_vta_dot", "", {"INPUT_BITS": inputs, "WEIGHT_BITS": weights,
                                   "BLOCK_IN": block}, check
    for bits, numbers, check in [(16, 8, False), (8, 4, False), (16, 4, True)]:
        index = {name + "_INDEX_BITS": 6 for name in ("UOP", "INPUT", "WEIGHT", "ACCUMULATOR")}
        yield "kiln_vta_alu", "", {"ACCUMULATOR_BITS": bits, "NUMBERS": numbers} | index, check
    for port, latency, longest, check in [(8, 32, 128, False), (8, 8, 16, False),
                                          (8, 32, 256, True)]:
        yield "kiln_vta_reads", "", {"MEMORY_PORT_BYTES": port, "MEMORY_LATENCY": latency,
                                     "MAX_BYTES": longest}, check
    for port, outstanding, longest, check in [(8, 34, 32, False), (8, 10, 4, False),
                                              (16, 34, 32, True)]:
        yield ("kiln_axi_write_port", "", {"ADDRESS_BITS": 32, "DATA_BYTES": port,
                                           "MAX_BYTES": longest, "TAG_BITS": 34,
                                           "OUTSTANDING": outstanding}, check)


def points():
    """Returns all points of the family."""
    return [point for group in (machines, single_modules) for point in group()]
