// The array with the modules around it: input and weight buffer, weight loader, array sequencer and
// accumulation buffer. Outside of this module are the fetch units (write ports, `filled` and
// `released` tokens), the command queues, the vector unit (read port of the accumulators,
// `block_done` and `accumulation_released`), and the depthwise unit, which writes to the same
// accumulation banks. The module that a port leads to describes the port's timing.
module kiln_array_cluster #(
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,  // see kiln_processing_element
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    parameter int unsigned ARRAY_PRODUCT_LATENCY = 0,  // see kiln_processing_element
    parameter int unsigned ARRAY_SUM_LATENCY = 1,
    parameter int unsigned ACCUMULATION_LATENCY = 1,  // see kiln_accumulation_buffer
    parameter bit DEPTHWISE = 1'b1,  // see kiln_accumulation_buffer
    parameter int unsigned BLOCK_SIZE = 0,  // 0: no block scales; their ports are unused
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    // derived, do not set
    localparam int INPUT_BITS =
        kiln_format_pkg::most_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS),
    localparam int WEIGHT_BITS =
        kiln_format_pkg::most_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT),
    localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT),
    localparam int unsigned COLUMN_BITS = ARRAY_COLUMNS > 1 ? $clog2(ARRAY_COLUMNS) : 1,
    localparam int unsigned INPUT_ADDRESS_BITS =
        INPUT_BUFFER_WORDS > 1 ? $clog2(INPUT_BUFFER_WORDS) : 1,
    localparam int unsigned ACCUMULATION_ADDRESS_BITS =
        ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1,
    localparam int unsigned LONGEST = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS,
    localparam int unsigned INDEX_BITS = LONGEST > 1 ? $clog2(LONGEST) : 1,
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1
) (
    input  logic                                       clock,
    input  logic                                       reset,
    // Commands.
    input  logic                                       load_command_valid,
    output logic                                       load_command_ready,
    input  kiln_systolic_pkg::weight_load_command_t    load_command,
    input  logic                                       array_command_valid,
    output logic                                       array_command_ready,
    input  kiln_systolic_pkg::array_command_t          array_command,
    // Input fetch.
    input  logic                                       input_write_enable,
    input  logic                                       input_write_bank,
    input  logic [             INPUT_ADDRESS_BITS-1:0] input_write_address,
    input  logic [          ARRAY_ROWS*INPUT_BITS-1:0] input_write_data,
    input  logic                                       input_filled,
    output logic                                       input_released,
    // Weight fetch.
    input  logic                                       weight_write_enable,
    input  logic                                       weight_write_bank,
    input  logic [                      TILE_BITS-1:0] weight_write_tile,
    input  logic                                       weight_write_transposed,
    input  logic [                     INDEX_BITS-1:0] weight_write_index,
    input  logic [            LONGEST*WEIGHT_BITS-1:0] weight_write_data,
    input  logic                                       weights_filled,
    output logic                                       weights_released,
    // Block scales, from input and weight fetch: see kiln_block_scales.
    input  logic                                       input_scale_write_enable,
    input  logic                                       input_scale_write_bank,
    input  logic [             INPUT_ADDRESS_BITS-1:0] input_scale_write_address,
    input  logic                                       input_scale_write_one,
    input  logic [                     SCALE_BITS-1:0] input_scale_write_data,
    input  logic                                       weight_scale_write_enable,
    input  logic                                       weight_scale_write_bank,
    input  logic [                      TILE_BITS-1:0] weight_scale_write_tile,
    input  logic [                    COLUMN_BITS-1:0] weight_scale_write_column,
    input  logic [                     SCALE_BITS-1:0] weight_scale_write_data,
    // Depthwise unit.
    input  logic                                       depthwise_valid,
    input  logic                                       depthwise_bank,
    input  logic [      ACCUMULATION_ADDRESS_BITS-1:0] depthwise_address,
    input  logic [        ARRAY_COLUMNS*PSUM_BITS-1:0] depthwise_psums,
    // Vector unit.
    output logic                                       block_done,
    input  logic                                       accumulation_released,
    input  logic                                       accumulation_read_enable,
    input  logic                                       accumulation_read_bank,
    input  logic [      ACCUMULATION_ADDRESS_BITS-1:0] accumulation_read_address,
    output logic [ARRAY_COLUMNS*ACCUMULATION_BITS-1:0] accumulation_read_data,
    // For the performance counters: see kiln_weight_loader, kiln_array_sequencer.
    output logic                                       load_busy,
    output logic                                       load_stalled_empty,
    output logic                                       load_stalled_full,
    output logic                                       array_busy,
    output logic                                       array_stalled_input,
    output logic                                       array_stalled_weights,
    output logic                                       array_stalled_accumulation
);
  localparam int unsigned STEPS = ARRAY_ROWS / WEIGHT_ROWS_PER_CYCLE;
  localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1;

  logic weight_read_enable, weight_read_bank;
  logic [TILE_BITS-1:0] weight_read_tile;
  logic [STEP_BITS-1:0] weight_read_step;
  logic [WEIGHT_ROWS_PER_CYCLE*ARRAY_COLUMNS*WEIGHT_BITS-1:0] weights;
  kiln_weight_buffer #(
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .ARRAY_ROWS(ARRAY_ROWS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .WEIGHT_ROWS_PER_CYCLE(WEIGHT_ROWS_PER_CYCLE),
      .CODE_BITS(WEIGHT_BITS)
  ) weight_buffer (
      .clock,
      .write_enable    (weight_write_enable),
      .write_bank      (weight_write_bank),
      .write_tile      (weight_write_tile),
      .write_transposed(weight_write_transposed),
      .write_index     (weight_write_index),
      .write_data      (weight_write_data),
      .read_enable     (weight_read_enable),
      .read_bank       (weight_read_bank),
      .read_tile       (weight_read_tile),
      .read_step       (weight_read_step),
      .read_data       (weights)
  );

  logic shadow_full, pass_start, load, load_start;
  logic [STEP_BITS-1:0] load_step;
  kiln_weight_loader #(
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .ARRAY_ROWS(ARRAY_ROWS),
      .WEIGHT_ROWS_PER_CYCLE(WEIGHT_ROWS_PER_CYCLE)
  ) weight_loader (
      .clock,
      .reset,
      .command_valid(load_command_valid),
      .command_ready(load_command_ready),
      .command      (load_command),
      .weights_filled,
      .weights_released,
      .shadow_full,
      .pass_start,
      .read_enable  (weight_read_enable),
      .read_bank    (weight_read_bank),
      .read_tile    (weight_read_tile),
      .read_step    (weight_read_step),
      .load_start,
      .load,
      .load_step,
      .busy         (load_busy),
      .stalled_empty(load_stalled_empty),
      .stalled_full (load_stalled_full)
  );

  logic input_read_enable, input_read_bank, array_active, array_swap;
  logic [INPUT_ADDRESS_BITS-1:0] input_read_address;
  logic [ARRAY_ROWS-1:0] array_multiply;
  logic [1:0] array_precision;
  logic accumulate_valid, accumulate_bank, accumulate_overwrite;
  logic [ACCUMULATION_ADDRESS_BITS-1:0] accumulate_address;
  kiln_array_sequencer #(
      .ARRAY_ROWS(ARRAY_ROWS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .PRODUCT_LATENCY(ARRAY_PRODUCT_LATENCY),
      .SUM_LATENCY(ARRAY_SUM_LATENCY),
      .ACCUMULATION_LATENCY(ACCUMULATION_LATENCY),
      .INPUT_BUFFER_WORDS(INPUT_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS)
  ) sequencer (
      .clock,
      .reset,
      .command_valid       (array_command_valid),
      .command_ready       (array_command_ready),
      .command             (array_command),
      .input_filled,
      .input_released,
      .shadow_full,
      .pass_start,
      .accumulation_released,
      .block_done,
      .read_enable         (input_read_enable),
      .read_bank           (input_read_bank),
      .read_address        (input_read_address),
      .array_active,
      .array_swap,
      .array_multiply,
      .array_precision,
      .accumulate_valid,
      .accumulate_bank,
      .accumulate_address,
      .accumulate_overwrite,
      .busy                (array_busy),
      .stalled_input       (array_stalled_input),
      .stalled_weights     (array_stalled_weights),
      .stalled_accumulation(array_stalled_accumulation)
  );

  logic [ARRAY_ROWS*INPUT_BITS-1:0] word;
  kiln_input_buffer #(
      .WORDS(INPUT_BUFFER_WORDS),
      .LANES(ARRAY_ROWS),
      .CODE_BITS(INPUT_BITS)
  ) input_buffer (
      .clock,
      .write_enable (input_write_enable),
      .write_bank   (input_write_bank),
      .write_address(input_write_address),
      .write_data   (input_write_data),
      .read_enable  (input_read_enable),
      .read_bank    (input_read_bank),
      .read_address (input_read_address),
      .read_data    (word)
  );

  localparam int PRECISION_BITS = PRECISIONS > 1 ? $clog2(PRECISIONS) : 1;
  wire unused_precision = &{1'b0, array_precision};  // an instruction has more bits for it
  logic [ARRAY_COLUMNS*PSUM_BITS-1:0] psums;
  kiln_systolic_array #(
      .ARRAY_ROWS(ARRAY_ROWS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .WEIGHT_ROWS_PER_CYCLE(WEIGHT_ROWS_PER_CYCLE),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PSUM_FORMAT(PSUM_FORMAT),
      .PRODUCT_ROUNDED(PRODUCT_ROUNDED),
      .PRODUCT_LATENCY(ARRAY_PRODUCT_LATENCY),
      .SUM_LATENCY(ARRAY_SUM_LATENCY),
      .PRECISIONS(PRECISIONS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS)
  ) elements (
      .clock,
      .reset,
      .active  (array_active),
      .swap    (array_swap),
      .multiply(array_multiply),
      .precision(array_precision[PRECISION_BITS-1:0]),
      .word,
      .load,
      .load_step,
      .weights,
      .psums
  );

  logic [ARRAY_COLUMNS*kiln_format_pkg::scale_product_bits(SCALE_FORMAT)-1:0] scales;
  if (BLOCK_SIZE == 0) begin : g_no_scales
    wire unused_scales = &{1'b0, input_scale_write_enable, input_scale_write_bank,
        input_scale_write_address, input_scale_write_one, input_scale_write_data,
        weight_scale_write_enable, weight_scale_write_bank, weight_scale_write_tile,
        weight_scale_write_column, weight_scale_write_data, load_start};
    assign scales = '0;
  end else begin : g_scales
    kiln_block_scales #(
        .ARRAY_ROWS(ARRAY_ROWS),
        .ARRAY_COLUMNS(ARRAY_COLUMNS),
        .WEIGHT_ROWS_PER_CYCLE(WEIGHT_ROWS_PER_CYCLE),
        .PRODUCT_LATENCY(ARRAY_PRODUCT_LATENCY),
        .SUM_LATENCY(ARRAY_SUM_LATENCY),
        .INPUT_BUFFER_WORDS(INPUT_BUFFER_WORDS),
        .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
        .SCALE_FORMAT(SCALE_FORMAT)
    ) block_scales (
        .clock,
        .reset,
        .input_write_enable (input_scale_write_enable),
        .input_write_bank   (input_scale_write_bank),
        .input_write_address(input_scale_write_address),
        .input_write_one    (input_scale_write_one),
        .input_write_data   (input_scale_write_data),
        .weight_write_enable(weight_scale_write_enable),
        .weight_write_bank  (weight_scale_write_bank),
        .weight_write_tile  (weight_scale_write_tile),
        .weight_write_column(weight_scale_write_column),
        .weight_write_data  (weight_scale_write_data),
        .load_start,
        .load_bank          (weight_read_bank),
        .load_tile          (weight_read_tile),
        .load_blocks        (load_command.header.weight_blocks),
        .read_enable        (input_read_enable),
        .read_bank          (input_read_bank),
        .read_address       (input_read_address),
        .read_swap          (pass_start),
        .read_blocks        (array_command.header.input_blocks),
        .products           (scales)
    );
  end

  // An integer psum is the sum of a row of products of integer operands.
  localparam int unsigned PRODUCT_BITS =
      kiln_format_pkg::most_integer_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS) +
      kiln_format_pkg::most_integer_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS);
  localparam int unsigned ALL_PRODUCTS_BITS = PRODUCT_BITS + 1 + $clog2(ARRAY_ROWS);
  localparam int unsigned PSUM_RANGE = ALL_PRODUCTS_BITS < kiln_format_pkg::bits(PSUM_FORMAT) ?
      ALL_PRODUCTS_BITS : kiln_format_pkg::bits(PSUM_FORMAT);
  kiln_accumulation_buffer #(
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .PSUM_FORMAT(PSUM_FORMAT),
      .PSUM_RANGE(PSUM_RANGE),
      .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT),
      .SCALED(BLOCK_SIZE != 0),
      .SCALE_FORMAT(SCALE_FORMAT),
      .ACCUMULATION_LATENCY(ACCUMULATION_LATENCY),
      .DEPTHWISE(DEPTHWISE)
  ) accumulators (
      .clock,
      .reset,
      .array_valid    (accumulate_valid),
      .array_bank     (accumulate_bank),
      .array_address  (accumulate_address),
      .array_overwrite(accumulate_overwrite),
      .array_psums    (psums),
      .array_scales   (scales),
      .depthwise_valid,
      .depthwise_bank,
      .depthwise_address,
      .depthwise_psums,
      .read_enable    (accumulation_read_enable),
      .read_bank      (accumulation_read_bank),
      .read_address   (accumulation_read_address),
      .read_data      (accumulation_read_data)
  );
endmodule
