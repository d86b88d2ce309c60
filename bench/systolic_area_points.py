"""Points of the systolic family for bench/area_grid."""
import collections
import itertools


def formats(inputs, weights, psum, **others):
    """Returns the parameters that select the array's formats."""
    return {"INPUT_FORMAT": inputs, "WEIGHT_FORMAT": weights, "PSUM_FORMAT": psum} | others


def elements():
    """Yields processing elements as (input, weight, psum) formats; some are marked for checking."""
    whole = ["int2 int2 int16", "int4 int4 int16", "int4 int4 int32 check", "int8 int4 int24",
             "int8 int4 int32", "int4 int8 int32 check", "int6 int6 int24 check",
             "int8 int8 int16", "int8 int8 int24 check", "int8 int8 int32", "int3 int3 int16",
             "int16 int8 int32", "int8 int16 int32 check", "int16 int16 int32",
             "int12 int12 int32", "int8 int2 int32", "int5 int7 int24", "uint8 int8 int32 check",
             "int8 binary int32", "int8 ternary int32 check"]
    real = ["e4m3 e4m3 bf16", "e4m3 e4m3 fp16 check", "e4m3 e4m3 fp32", "e5m2 e5m2 bf16",
            "e5m2 e5m2 fp16", "e5m2 e5m2 fp32 check", "e4m3 e5m2 bf16 check", "e2m1 e2m1 bf16",
            "e3m2 e3m2 bf16 check", "e2m3 e2m3 bf16", "e2m1 e2m1 fp32", "e2m3 e2m3 fp32 check",
            "fp16 fp16 fp16", "fp16 fp16 fp32", "bf16 bf16 bf16 check", "bf16 bf16 fp32",
            "tf32 tf32 fp32", "fp32 fp32 fp32", "bf16 e4m3 fp32 check", "fp16 e2m1 fp16",
            "bf16 e4m3 bf16", "posit8_0 posit8_0 bf16", "posit8_1 posit8_1 bf16",
            "posit8_2 posit8_2 bf16 check", "posit8_1 posit8_1 fp32",
            "posit8_0 posit8_0 fp16 check", "posit6_1 posit6_1 bf16", "posit16_1 posit16_1 fp32",
            "posit16_2 posit16_2 fp32 check", "posit4_0 posit4_0 bf16", "posit6_0 posit6_0 fp32",
            "bf16 nf4 fp32", "bf16 nf4 bf16", "int8 nf4 bf16 check", "int8 nf4 fp32",
            "int8 int8 fp32", "int8 e4m3 bf16", "nf4 nf4 bf16", "int4 int4 bf16 check"]
    for text in whole + real:
        inputs, weights, psum, *check = text.split()
        yield "kiln_processing_element", "", formats(inputs, weights, psum), bool(check)
    for text in ["e4m3 e4m3 bf16", "posit8_1 posit8_1 bf16 check", "bf16 bf16 fp32",
                 "e5m2 e5m2 fp32"]:
        inputs, weights, psum, *check = text.split()
        yield "kiln_processing_element", "", formats(inputs, weights, psum,
                                                     PRODUCT_ROUNDED=1), bool(check)
    # With registers behind the product, and within the sum.
    for text in ["int8 int8 int32 1 1", "int4 int4 int16 1 1 check", "int16 int16 int32 1 1",
                 "e4m3 e4m3 bf16 1 2", "e4m3 e4m3 bf16 1 1", "e4m3 e4m3 bf16 0 2 check",
                 "e4m3 e4m3 fp32 1 2 check", "e5m2 e5m2 bf16 1 2 check", "e2m1 e2m1 bf16 1 2",
                 "bf16 bf16 fp32 1 2", "bf16 bf16 bf16 1 2", "fp16 fp16 fp32 0 2",
                 "posit8_1 posit8_1 bf16 1 2 check", "posit8_1 posit8_1 fp32 1 2",
                 "posit8_2 posit8_2 bf16 1 2", "int8 nf4 bf16 1 2", "bf16 nf4 fp32 1 2 check",
                 "int8 e4m3 bf16 1 2"]:
        inputs, weights, psum, product, adder, *check = text.split()
        yield "kiln_processing_element", "", formats(inputs, weights, psum, PRODUCT_LATENCY=product,
                                                     SUM_LATENCY=adder), bool(check)


def arrays():
    """Yields systolic arrays of several shapes and formats, without their processing elements."""
    for rows, columns, step, text, check in [
            (2, 2, 1, "int8 int8 int32", False), (2, 4, 1, "int8 int8 int32", False),
            (4, 2, 1, "int8 int8 int32", False), (4, 4, 1, "int8 int8 int32", False),
            (4, 4, 2, "int8 int8 int32", True), (4, 4, 4, "int8 int8 int32", False),
            (4, 8, 1, "int8 int8 int32", True), (8, 4, 1, "int8 int8 int32", False),
            (8, 8, 1, "int8 int8 int32", False), (8, 8, 2, "int8 int8 int32", False),
            (8, 8, 4, "int4 int4 int16", True), (8, 8, 1, "int4 int4 int16", False),
            (4, 4, 1, "e4m3 e4m3 bf16", False), (8, 8, 1, "e4m3 e4m3 bf16", True),
            (4, 4, 1, "int16 int16 int32", False), (4, 4, 1, "posit8_1 posit8_1 bf16", False),
            (4, 4, 1, "bf16 bf16 fp32", True), (2, 8, 1, "e2m1 e2m1 bf16", False),
            (16, 16, 1, "int8 int8 int32", True)]:
        yield ("kiln_systolic_array", "kiln_processing_element",
               {"ARRAY_ROWS": rows, "ARRAY_COLUMNS": columns, "WEIGHT_ROWS_PER_CYCLE": step}
               | formats(*text.split()), check)
    for rows, columns, step, text, check in [
            (4, 4, 1, "e4m3 e4m3 bf16", False), (8, 8, 1, "e4m3 e4m3 bf16", True),
            (4, 8, 2, "posit8_1 posit8_1 bf16", False), (8, 8, 1, "bf16 bf16 fp32", True)]:
        yield ("kiln_systolic_array", "kiln_processing_element",
               {"ARRAY_ROWS": rows, "ARRAY_COLUMNS": columns, "WEIGHT_ROWS_PER_CYCLE": step}
               | formats(*text.split(), PRODUCT_LATENCY=1, SUM_LATENCY=2), check)


def around_the_array():
    """Yields the buffers and sequencers around the array."""
    for rows, columns, step, bits, words, check in [
            (2, 2, 1, 8, 256, False), (4, 4, 1, 8, 1024, False), (4, 4, 2, 8, 1024, False),
            (8, 8, 1, 8, 1024, False), (8, 8, 1, 4, 1024, False), (8, 8, 2, 8, 512, True),
            (8, 8, 4, 8, 1024, False), (4, 8, 1, 8, 1024, True), (8, 4, 1, 8, 1024, False),
            (16, 16, 1, 8, 1024, False), (16, 16, 1, 4, 1024, True), (8, 8, 1, 16, 1024, True),
            (16, 16, 2, 8, 1024, False)]:
        yield ("kiln_weight_buffer", "", {"ARRAY_ROWS": rows, "ARRAY_COLUMNS": columns,
                                          "WEIGHT_ROWS_PER_CYCLE": step, "CODE_BITS": bits,
                                          "WEIGHT_BUFFER_WORDS": words}, check)
    for rows, step, words, check in [(4, 1, 1024, False), (8, 1, 1024, False), (16, 1, 1024, True),
                                     (8, 2, 256, False), (16, 4, 2048, True), (32, 1, 1024, False)]:
        yield ("kiln_weight_loader", "", {"ARRAY_ROWS": rows, "WEIGHT_ROWS_PER_CYCLE": step,
                                          "WEIGHT_BUFFER_WORDS": words}, check)
    for rows, columns, words, banks, check in [(4, 4, 1024, 2, False), (8, 8, 1024, 2, False),
                                               (8, 8, 256, 1, True), (16, 16, 1024, 2, True),
                                               (32, 16, 4096, 2, False), (2, 2, 64, 1, False)]:
        yield ("kiln_array_sequencer", "", {"ARRAY_ROWS": rows, "ARRAY_COLUMNS": columns,
                                            "INPUT_BUFFER_WORDS": words,
                                            "ACCUMULATION_BUFFER_WORDS": words,
                                            "ACCUMULATION_BUFFER_BANKS": banks}, check)
    for columns, banks, psum, accumulation, scaled, check in [
            (2, 2, "int32", "int32", 0, False), (4, 2, "int32", "int32", 0, False),
            (8, 2, "int32", "int32", 0, True), (4, 1, "int32", "int32", 0, False),
            (4, 2, "int24", "int32", 0, True), (4, 2, "int16", "int32", 0, False),
            (4, 2, "int16", "int24", 0, False), (4, 2, "bf16", "bf16", 0, False),
            (2, 2, "bf16", "bf16", 0, False), (4, 2, "bf16", "fp32", 0, False),
            (2, 2, "fp32", "fp32", 0, False), (4, 2, "fp32", "fp32", 0, True),
            (4, 1, "fp16", "fp16", 0, True), (4, 2, "fp16", "fp32", 0, False),
            (2, 2, "int32", "fp32", 1, False), (4, 2, "int32", "fp32", 1, True),
            (2, 2, "bf16", "fp32", 1, False), (2, 2, "fp32", "fp32", 1, False),
            (4, 2, "int24", "fp32", 1, False), (2, 1, "int16", "fp32", 1, False)]:
        yield ("kiln_accumulation_buffer", "",
               {"ARRAY_COLUMNS": columns, "ACCUMULATION_BUFFER_BANKS": banks, "PSUM_FORMAT": psum,
                "ACCUMULATION_FORMAT": accumulation, "SCALED": scaled}, check)
    # With registers within sums, and scales of one format, as whole machines have them.
    for columns, psum, accumulation, scale, latency, check in [
            (4, "bf16", "bf16", "", 2, False), (2, "bf16", "bf16", "", 3, False),
            (8, "bf16", "bf16", "", 2, True), (4, "bf16", "fp32", "", 3, False),
            (2, "fp32", "fp32", "", 3, False), (2, "bf16", "fp32", "", 2, True),
            (2, "int32", "fp32", "e8m0", 3, False), (4, "int32", "fp32", "e8m0", 3, False),
            (8, "int32", "fp32", "e8m0", 3, True), (4, "bf16", "fp32", "e8m0", 3, False),
            (2, "int32", "bf16", "e8m0", 3, False), (4, "int32", "bf16", "e8m0", 3, False),
            (8, "int32", "bf16", "e8m0", 3, True), (2, "int24", "fp32", "e8m0", 1, True)]:
        parameters = {"ARRAY_COLUMNS": columns, "PSUM_FORMAT": psum,
                      "ACCUMULATION_FORMAT": accumulation, "SCALED": 1 if scale else 0,
                      "ACCUMULATION_LATENCY": latency}
        if scale:
            parameters["SCALE_FORMAT"] = scale
        yield "kiln_accumulation_buffer", "", parameters, check
    for columns, check in [(4, False), (8, True)]:
        yield ("kiln_accumulation_buffer", "",
               {"ARRAY_COLUMNS": columns, "PSUM_FORMAT": "bf16", "ACCUMULATION_FORMAT": "bf16",
                "ACCUMULATION_LATENCY": 2, "DEPTHWISE": 0}, check)
    for size, step, scale, words, check in [(2, 1, "e8m0", 1024, False),
                                            (4, 1, "e8m0", 1024, False),
                                            (8, 1, "e8m0", 1024, True), (4, 2, "e8m0", 256, False),
                                            (4, 1, "e4m3", 1024, False),
                                            (8, 1, "ue5m3", 1024, False)]:
        yield ("kiln_block_scales", "", {"ARRAY_ROWS": size, "ARRAY_COLUMNS": size,
                                         "WEIGHT_ROWS_PER_CYCLE": step,
                                         "INPUT_BUFFER_WORDS": words, "WEIGHT_BUFFER_WORDS": words,
                                         "SCALE_FORMAT": scale}, check)


def depthwise():
    """Yields depthwise clusters."""
    for columns, multipliers, text, words, check in [
            (2, 9, "int8 int8 int32", 1024, False), (4, 9, "int8 int8 int32", 1024, False),
            (4, 3, "int8 int8 int32", 1024, False), (4, 1, "int8 int8 int32", 1024, False),
            (8, 3, "int8 int8 int32", 512, True), (4, 5, "int4 int4 int16", 1024, False),
            (4, 9, "int4 int4 int32", 256, False), (2, 3, "int16 int16 int32", 1024, False),
            (2, 3, "e4m3 e4m3 bf16", 1024, False), (2, 1, "bf16 bf16 fp32", 1024, False),
            (2, 2, "posit8_1 posit8_1 bf16", 1024, False), (2, 4, "e5m2 e5m2 bf16", 1024, True),
            (2, 9, "e4m3 e4m3 bf16", 1024, True), (2, 25, "int8 int8 int24", 1024, True),
            (1, 1, "int8 int8 int32", 1024, False)]:
        yield ("kiln_depthwise_cluster", "",
               {"ARRAY_COLUMNS": columns, "DEPTHWISE_MULTIPLIERS": multipliers,
                "DEPTHWISE_BUFFER_WORDS": words} | formats(*text.split()), check)
    # Of whole machines: eight lanes and more, and additions of floats in two cycles.
    for columns, multipliers, text, check in [
            (16, 9, "int8 int8 int32", False), (8, 9, "int8 int8 int32", False),
            (4, 9, "e4m3 e4m3 bf16", False), (2, 3, "e4m3 e4m3 bf16", False),
            (2, 9, "posit8_1 posit8_1 bf16", False),
            (2, 9, "bf16 bf16 fp32", False), (8, 9, "e4m3 e4m3 bf16", True),
            (4, 9, "posit8_1 posit8_1 bf16", True), (4, 5, "int8 int8 int32", True)]:
        parameters = formats(*text.split())
        if "int" not in text:
            parameters["DEPTHWISE_SUM_LATENCY"] = 2
        yield ("kiln_depthwise_cluster", "",
               {"ARRAY_COLUMNS": columns, "DEPTHWISE_MULTIPLIERS": multipliers,
                "DEPTHWISE_BUFFER_WORDS": 256} | parameters, check)


def fetch():
    """Yields the units that fetch inputs, weights and parameters."""
    for rows, columns, bits, words, check in [(2, 2, 8, 1024, False), (4, 4, 8, 1024, False),
                                              (8, 8, 8, 1024, False), (16, 16, 8, 1024, True),
                                              (32, 32, 8, 1024, False), (8, 8, 4, 256, True),
                                              (8, 8, 16, 1024, False), (16, 8, 4, 2048, False)]:
        sizes = {"ARRAY_ROWS": rows, "ARRAY_COLUMNS": columns}
        yield ("kiln_input_fetch", "", sizes | {"INPUT_BITS": bits, "INPUT_BUFFER_WORDS": words},
               check)
        yield ("kiln_weight_fetch", "",
               sizes | {"WEIGHT_BITS": bits, "WEIGHT_BUFFER_WORDS": words}, check)
    for size, check in [(2, False), (4, False), (8, True)]:
        sizes = {"ARRAY_ROWS": size, "ARRAY_COLUMNS": size}
        yield "kiln_input_fetch", "", sizes | {"INPUT_BITS": 8, "INPUT_BUFFER_WORDS": 1024,
                                               "BLOCK_SIZE": 8}, check
        yield "kiln_weight_fetch", "", sizes | {"WEIGHT_BITS": 8, "WEIGHT_BUFFER_WORDS": 1024,
                                                "BLOCK_SIZE": 8}, check
    for columns, check in [(2, False), (4, False), (8, True), (16, False), (32, False)]:
        yield "kiln_parameter_fetch", "", {"ARRAY_COLUMNS": columns}, check


def ports():
    """Yields read and write channels of the bus."""
    for port, word, tag, outstanding, check in [(8, 8, 8, 20, False), (16, 16, 24, 20, False),
                                                (16, 8, 24, 20, True), (16, 32, 24, 20, False),
                                                (32, 32, 24, 20, False), (32, 16, 24, 36, False),
                                                (16, 64, 16, 20, True), (64, 16, 24, 20, False),
                                                (8, 16, 24, 68, False), (64, 64, 24, 20, True),
                                                (16, 16, 40, 36, True), (8, 1, 24, 20, False)]:
        parameters = {"DATA_BYTES": port, "MAX_BYTES": word, "TAG_BITS": tag,
                      "OUTSTANDING": outstanding}
        yield "kiln_read_channel", "", parameters, check
        if tag == 24:
            yield "kiln_write_channel", "", parameters | {"TAG_BITS": 1}, check


def number_format(name):
    """Returns the parameter that selects a vector format; fp32 is the default."""
    return {} if name == "fp32" else {"VECTOR_FORMAT": name}


def vector_stages():
    """Yields the vector unit's stages, with rows for the lanes in them, and their registers."""
    # Program memories are small, because their area grows with their bits. There are two lanes,
    # because a single lane would be merged into the stage. `turned` names the row of a point that
    # is for checking although the point's other rows are for fitting, or the other way round.
    for lanes, latency, slots, rows, functions, divider, vector, check, turned in [
            (2, 1, 1, 2, 0, 0, "fp32", False, ""),
            (2, 1, 1, 2, 1, 1, "bf16", False, "kiln_vector_lane"),
            (2, 2, 3, 8, 0, 1, "fp32", True, "kiln_vector_stage"),
            (2, 2, 2, 4, 1, 1, "tf32", True, "kiln_vector_lane"),
            (2, 1, 1, 2, 0, 0, "bf16", True, "kiln_vector_lane")]:
        numbers = number_format(vector)
        parts = {"HAS_FUNCTIONS": functions, "HAS_DIVIDER": divider}
        memory = {"LANES": lanes, "SLOTS": slots, "ROWS": rows}
        points = [("kiln_vector_lane", "kiln_spline", parts | numbers)]
        if functions:
            points.append(("kiln_spline", "", numbers))
        points = [point + (check != (point[0] == turned),) for point in points]
        yield "kiln_vector_stage", memory | {"LATENCY": latency} | parts | numbers, points, check
        yield ("kiln_vector_stage", memory | {"HAS_FUNCTIONS": 0, "HAS_DIVIDER": 0} | numbers,
               [("kiln_vector_stage", "kiln_vector_lane kiln_vector_registers", memory | numbers,
                 check != (turned == "kiln_vector_stage"))], check)
    for lanes, latency, vector_bits, value, saved, operands, check in [
            (2, 1, 32, 1, 1, 7, False), (2, 3, 16, 0, 1, 7, False), (4, 3, 16, 0, 1, 7, False),
            (8, 6, 16, 0, 1, 7, False), (4, 3, 16, 1, 0, 0, False), (1, 3, 16, 1, 0, 0, False),
            (8, 3, 16, 0, 0, 1, False), (8, 3, 16, 0, 0, 0, False), (8, 3, 16, 0, 1, 7, True),
            (4, 6, 16, 0, 1, 7, True), (2, 3, 16, 1, 0, 0, True), (4, 3, 16, 0, 0, 1, True)]:
        registers = {"LANES": lanes, "LATENCY": latency, "NUMBER": vector_bits,
                     "CARRIES_VALUE": value, "CARRIES_SAVED": saved, "CARRIES_OPERANDS": operands}
        yield "kiln_vector_registers", registers, [("kiln_vector_registers", "", registers)], check


def operand_buffers():
    """Yields operand buffers with and without block scales, and their decoders."""
    for lanes, words, text, block, check in [
            (2, 4, "int8 int8 fp32", 0, False), (2, 4, "e4m3 e4m3 fp32", 0, False),
            (4, 8, "posit8_1 posit8_1 fp32", 0, True), (2, 4, "bf16 bf16 bf16", 0, False),
            (2, 4, "int8 int8 fp32", 8, False), (2, 4, "int8 nf4 fp32", 0, False)]:
        inputs, weights, vector = text.split()
        sizes = {"LANES": lanes, "WORDS": words} | number_format(vector) | ({"BLOCK_SIZE": block}
                                                                            if block else {})
        codes = {"INPUT_FORMAT": inputs, "WEIGHT_FORMAT": weights}
        rows = [("kiln_operand_buffer", "kiln_operand_decoder", sizes),
                ("kiln_operand_decoder", "", codes | number_format(vector))]
        yield "kiln_operand_buffer", sizes | codes, rows, check


def lanes_around():
    """Yields modules of the vector unit that exist once per lane, and those that serve all."""
    for lanes, accumulation, vector, check in [(2, "int32", "fp32", False),
                                               (2, "bf16", "fp32", False),
                                               (4, "fp32", "fp32", True),
                                               (2, "fp32", "bf16", False)]:
        parameters = {"LANES": lanes, "ACCUMULATION_FORMAT": accumulation} | number_format(vector)
        yield "kiln_vector_source", parameters, [("kiln_vector_source", "kiln_vector_registers",
                                                  parameters)], check
    for text, more, check in [("int8 int8", {}, False), ("e4m3 e4m3", {}, False),
                              ("posit8_1 posit8_1", {}, True), ("bf16 bf16", {}, False),
                              ("bf16 nf4", {}, True), ("e4m3 e4m3", {"BLOCKS": 1}, False)]:
        inputs, weights = text.split()
        parameters = {"INPUT_FORMAT": inputs, "WEIGHT_FORMAT": weights} | more
        yield "kiln_quantiser", parameters, [("kiln_quantiser", "", parameters)], check
    for lanes, stages, vector, check in [(2, 1, "fp32", False), (4, 2, "fp32", True),
                                         (4, 1, "bf16", True)]:
        parameters = {"LANES": lanes, "SCALAR_STAGES": stages} | number_format(vector)
        more = {"SLOTS": 1, "FUNCTION_STAGES": 0, "DIVIDE_STAGES": 0}
        yield ("kiln_reduction", parameters | more,
               [("kiln_reduction", "kiln_vector_stage kiln_vector_registers", parameters)], check)
    for words, more, check in [(4, {}, False), (8, {}, True), (4, {"BLOCKS": 1}, False),
                               (16, {}, False), (16, {"BLOCKS": 1}, True)]:
        parameters = {"WORDS": words} | more
        yield "kiln_vector_issue", parameters, [("kiln_vector_issue", "", parameters)], check
    for lanes, latency, block, element, check in [(2, 1, 8, "int8", False),
                                                  (4, 2, 8, "int8", False),
                                                  (4, 1, 16, "e4m3", True),
                                                  (8, 4, 16, "int8", False)]:
        parameters = {"LANES": lanes, "LATENCY": latency, "ELEMENT_FORMAT": element,
                      "BLOCK_SIZE": block}
        yield "kiln_vector_blocks", parameters, [("kiln_vector_blocks", "", parameters)], check


def short_lanes():
    """Yields stages of short floats, with rows for their lanes and function units."""
    for latency, extra, functions, divider, vector, check in [
            (3, 0, 0, 0, "bf16.flush", False), (3, 3, 1, 1, "bf16.flush", False),
            (3, 0, 0, 0, "fp16", False), (3, 3, 1, 1, "fp16", False),
            (3, 0, 0, 0, "e4m3", False), (4, 3, 1, 1, "e4m3", False),
            (3, 0, 0, 0, "e6m9", True), (3, 3, 1, 1, "e5m5", True),
            (4, 2, 0, 1, "bf16.flush", True)]:
        lane = {"LATENCY": latency + extra, "HAS_DIVIDER": divider, "VECTOR_FORMAT": vector}
        rows = [("kiln_vector_lane", "kiln_function", lane)]
        if functions:
            rows.append(("kiln_function", "", {"VECTOR_FORMAT": vector}))
        yield ("kiln_vector_stage",
               {"LANES": 2, "SLOTS": 1, "ROWS": 2, "LATENCY": latency, "EXTRA": extra,
                "HAS_FUNCTIONS": functions, "HAS_DIVIDER": divider, "VECTOR_FORMAT": vector},
               rows, check)


def without_integers(marks):
    """Returns the parameter of a point marked "no": its vector unit has no integer elements."""
    return {"INTEGER_ELEMENTS": 0} if marks else {}


def short_conversions():
    """Yields what converts elements and accumulators to short floats and back, and reductions."""
    for lanes, words, text, convert, block, check in [
            (2, 4, "int8 int8 bf16.flush", 3, 0, False),
            (2, 4, "e4m3 e4m3 bf16.flush", 3, 0, False),
            (2, 4, "int8 int8 fp16", 3, 0, False), (2, 8, "int8 nf4 e5m5", 0, 0, False),
            (2, 4, "posit8_1 posit8_1 bf16.flush", 3, 0, False),
            (2, 4, "int8 int8 bf16.flush", 3, 8, False),
            (4, 8, "int8 int8 bf16.flush", 3, 0, False),
            (4, 4, "e4m3 e4m3 bf16.flush", 3, 0, True),
            (2, 4, "e4m3 posit8_1 e6m9", 2, 0, True),
            (2, 4, "e4m3 e4m3 bf16.flush no", 3, 0, False),
            (2, 4, "posit8_1 posit8_1 bf16.flush no", 3, 0, False),
            (4, 4, "bf16 bf16 bf16.flush no", 3, 0, False),
            (8, 24, "e4m3 e4m3 bf16.flush no", 3, 0, False),
            (16, 24, "e4m3 e4m3 bf16.flush no", 3, 0, False),
            (32, 24, "int8 int8 bf16.flush", 3, 0, False),
            (2, 4, "e5m2 e5m2 bf16.flush no", 3, 0, True)]:
        inputs, weights, vector, *integers = text.split()
        sizes = {"LANES": lanes, "WORDS": words, "CONVERT": convert,
                 "VECTOR_FORMAT": vector} | ({"BLOCK_SIZE": block} if block else {})
        sizes |= without_integers(integers)
        codes = {"INPUT_FORMAT": inputs, "WEIGHT_FORMAT": weights}
        decoder = codes | without_integers(integers) | {"CONVERT": convert, "VECTOR_FORMAT": vector}
        rows = [("kiln_operand_buffer", "kiln_operand_decoder", sizes),
                ("kiln_operand_decoder", "", decoder)]
        yield "kiln_operand_buffer", sizes | codes, rows, check
    for text, registers, more, check in [
            ("int8 int8 bf16.flush", 5, {}, False), ("e4m3 e4m3 bf16.flush", 5, {}, False),
            ("posit8_1 posit8_1 bf16.flush", 5, {}, False), ("int8 int8 fp16", 5, {}, False),
            ("int8 int8 bf16.flush", 0, {}, False), ("bf16 nf4 bf16.flush", 5, {}, False),
            ("e4m3 e4m3 bf16.flush", 5, {"BLOCKS": 1}, False), ("int8 int8 e5m5", 4, {}, True),
            ("e4m3 posit8_1 e6m9", 5, {}, True),
            # Of whole machines: an inverse scale of as many bits as the numbers.
            ("int8 int8 bf16.flush", 5, {"SCALE": 16}, False),
            ("e4m3 e4m3 bf16.flush", 5, {"SCALE": 16}, True),
            ("int8 int8 bf16.flush", 5, {"SCALE": 16, "BLOCKS": 1}, False),
            ("e4m3 e4m3 bf16.flush no", 5, {"SCALE": 16, "ELEMENT": 16}, False),
            ("posit8_1 posit8_1 bf16.flush no", 5, {"SCALE": 16, "ELEMENT": 16}, False),
            ("bf16 nf4 bf16.flush no", 5, {"SCALE": 16, "ELEMENT": 16}, False),
            ("bf16 bf16 bf16.flush no", 5, {"SCALE": 16, "ELEMENT": 16}, True),
            ("e4m3 e4m3 bf16.flush no", 5, {"SCALE": 16, "ELEMENT": 16, "BLOCKS": 1}, True)]:
        inputs, weights, vector, *integers = text.split()
        parameters = {"INPUT_FORMAT": inputs, "WEIGHT_FORMAT": weights, "REGISTERS": registers,
                      "VECTOR_FORMAT": vector} | more | without_integers(integers)
        yield "kiln_short_quantiser", parameters, [("kiln_short_quantiser", "", parameters)], check
    for lanes, accumulation, vector, convert, latency, check in [
            (2, "int32", "bf16.flush", 3, 3, False), (2, "fp32", "bf16.flush", 3, 3, False),
            (2, "int32", "fp16", 3, 3, False), (2, "bf16", "e5m5", 0, 1, False),
            (4, "int32", "bf16.flush", 3, 3, True), (2, "fp32", "fp16", 2, 3, True)]:
        parameters = {"LANES": lanes, "ACCUMULATION_FORMAT": accumulation, "CONVERT": convert,
                      "LATENCY": latency, "VECTOR_FORMAT": vector}
        yield "kiln_vector_source", parameters, [("kiln_vector_source", "kiln_vector_registers",
                                                  parameters)], check
    for lanes, stages, vector, check in [(2, 1, "bf16.flush", False), (4, 1, "bf16.flush", False),
                                         (2, 2, "fp16", False), (4, 2, "bf16.flush", True)]:
        parameters = {"LANES": lanes, "SCALAR_STAGES": stages, "VECTOR_FORMAT": vector}
        more = {"SLOTS": 1, "FUNCTION_STAGES": 0, "DIVIDE_STAGES": 0}
        yield ("kiln_reduction", parameters | more,
               [("kiln_reduction", "kiln_vector_stage kiln_vector_registers", parameters)], check)


def vector_units():
    """Yields small vector units, without the parts that have models of their own."""
    inner = ("kiln_vector_stage kiln_operand_buffer kiln_vector_source kiln_reduction "
             "kiln_quantiser kiln_short_quantiser kiln_vector_issue kiln_vector_blocks")
    for columns, stages, latency, words, slots, block, check in [(2, 1, 1, 4, 2, 0, False),
                                                                 (2, 2, 2, 8, 2, 0, True),
                                                                 (2, 1, 1, 4, 2, 8, False)]:
        sizes = {"ARRAY_COLUMNS": columns, "VECTOR_STAGES": stages,
                 "VECTOR_STAGE_LATENCY": latency, "OPERAND_BUFFER_WORDS": words,
                 "SLOTS": slots} | ({"BLOCK_SIZE": block} if block else {})
        top = {"INPUT_FORMAT": "int8", "WEIGHT_FORMAT": "int8",
               "ACCUMULATION_FORMAT": "fp32" if block else "int32",
               "VECTOR_FUNCTION_STAGES": 0, "VECTOR_DIVIDE_STAGES": 0}
        yield "kiln_vector_unit", sizes | top, [("kiln_vector_unit", inner, sizes)], check


def whole_machine():
    """Yields the vector unit of a design point: four int8 columns, twelve stages, latency four.

    One synthesis gives rows for the arithmetic of fp32. It takes longer than all others together.
    """
    rows = [("kiln_vector_lane", "kiln_spline", {"HAS_FUNCTIONS": 1, "HAS_DIVIDER": 1}),
            ("kiln_spline", "", {}),
            ("kiln_vector_source", "kiln_vector_registers",
             {"LANES": 4, "ACCUMULATION_FORMAT": "int32"}),
            ("kiln_reduction", "kiln_vector_stage kiln_vector_registers",
             {"LANES": 4, "SCALAR_STAGES": 12})]
    top = {"ARRAY_COLUMNS": 4, "VECTOR_STAGES": 12, "VECTOR_STAGE_LATENCY": 4,
           "OPERAND_BUFFER_WORDS": 32, "SLOTS": 12}
    yield "kiln_vector_unit", top, rows, False
    scalar = {"LANES": 1, "LATENCY": 4, "SCALAR": 1, "SLOTS": 12, "HAS_FUNCTIONS": 0,
              "HAS_DIVIDER": 0}
    yield ("kiln_vector_stage", scalar,
           [("kiln_vector_stage", "kiln_vector_lane kiln_vector_registers",
             {"LANES": 1, "SLOTS": 12})], False)


def short_unit():
    """Yields the vector unit of systolic-int8-8x8: eight lanes, three stages of short floats."""
    inner = ("kiln_vector_stage kiln_operand_buffer kiln_vector_source kiln_reduction "
             "kiln_quantiser kiln_short_quantiser kiln_vector_issue kiln_vector_blocks")
    number = {"VECTOR_FORMAT": "bf16.flush"}
    sizes = {"ARRAY_COLUMNS": 8, "VECTOR_STAGES": 3, "VECTOR_STAGE_LATENCY": 3,
             "OPERAND_BUFFER_WORDS": 24, "SLOTS": 10} | number
    top = {"VECTOR_FUNCTION_LATENCY": 3, "VECTOR_CONVERT_LATENCY": 3, "VECTOR_FUNCTION_STAGES": 2,
           "VECTOR_DIVIDE_STAGES": 2}
    yield ("kiln_vector_unit", sizes | top,
           [("kiln_vector_stage", "kiln_vector_lane kiln_vector_registers",
             {"LANES": 8, "SLOTS": 10} | number),
            ("kiln_reduction", "kiln_vector_stage kiln_vector_registers",
             {"LANES": 8, "SCALAR_STAGES": 3} | number, True),
            ("kiln_vector_issue", "", {"WORDS": 24}), ("kiln_vector_unit", inner, sizes)], False)
    stage = {"LANES": 4, "SLOTS": 4} | number
    yield ("kiln_vector_stage", stage | {"HAS_FUNCTIONS": 0, "HAS_DIVIDER": 0},
           [("kiln_vector_stage", "kiln_vector_lane kiln_vector_registers", stage)], True)
    # Others, whose stages have neither functions nor dividers: those have models of their own.
    plain = {"VECTOR_CONVERT_LATENCY": 3, "VECTOR_FUNCTION_STAGES": 0, "VECTOR_DIVIDE_STAGES": 0}
    floats = {"INPUT_FORMAT": "e4m3", "WEIGHT_FORMAT": "e4m3", "ACCUMULATION_FORMAT": "bf16"}
    whole = without_integers(["no"])
    blocks = {"BLOCK_SIZE": 32}
    for columns, stages, own, formats_of, check in [
            (4, 1, whole, floats, False), (8, 3, whole, floats, True),
            (16, 2, whole, floats, False), (8, 1, blocks, {"ACCUMULATION_FORMAT": "bf16"}, False),
            (16, 1, blocks, {"ACCUMULATION_FORMAT": "bf16"}, True)]:
        sizes = {"ARRAY_COLUMNS": columns, "VECTOR_STAGES": stages, "VECTOR_STAGE_LATENCY": 3,
                 "OPERAND_BUFFER_WORDS": 24, "SLOTS": 10} | own | number
        yield ("kiln_vector_unit", sizes | plain | formats_of, [("kiln_vector_unit", inner, sizes)],
               check)


def head():
    """Yields command processors."""
    for port, depth, prefetch, block, check in [
            (16, 4, 32, 0, False), (16, 1, 20, 0, False), (32, 1, 20, 0, True),
            (8, 1, 20, 0, False), (16, 3, 20, 8, True),
            (16, 1, 20, 8, False), (16, 2, 20, 0, True)]:
        yield ("kiln_command_processor", "", {"INSTRUCTION_BYTES_PER_CYCLE": port,
                                              "COMMAND_QUEUE_DEPTH": depth,
                                              "PREFETCH_WORDS": prefetch}
               | ({"BLOCK_SIZE": block} if block else {}), check)
    for depth, more, check in [(1, {}, False), (1, {"INTEGER_ELEMENTS": 0}, False),
                               (2, {"INTEGER_ELEMENTS": 0}, True)]:
        yield ("kiln_command_processor", "",
               {"COMMAND_QUEUE_DEPTH": depth, "PREFETCH_WORDS": 20, "SCALE_BITS": 16} | more, check)


def points():
    """Returns all points as (top, parameters, rows, whether for checking).

    A row is (module, modules left out, parameters). The points alternate between modules, so that a
    part of a run covers every kind of module.
    """
    by_module = collections.defaultdict(list)
    for group in (elements, arrays, around_the_array, fetch, ports, head, depthwise):
        for module, without, parameters, check in group():
            by_module[module].append((module, parameters, [(module, without, parameters)], check))
    for group in (vector_stages, operand_buffers, lanes_around, short_lanes, short_conversions,
                  vector_units, whole_machine, short_unit):
        for point in group():
            by_module[point[0]].append(point)
    return [point for turn in itertools.zip_longest(*by_module.values()) for point in turn
            if point is not None]
