// The depthwise unit with its buffers. Outside of this module are the fetch units (write ports,
// `filled` and `released` tokens), the command queue, and the accumulation buffer that it shares
// with the array (kiln_array_cluster). The module that a port leads to describes the port's timing.
module kiln_depthwise_cluster #(
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 9,
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 1024,
    parameter int unsigned DEPTHWISE_WORDS_PER_CYCLE = 1,  // the most words of a write
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    parameter int unsigned ACCUMULATION_LATENCY = 1,  // see kiln_accumulation_buffer
    parameter int unsigned DEPTHWISE_SUM_LATENCY = 1,  // see kiln_depthwise_unit
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    parameter int unsigned USER_UNIT = 0,  // number of the unit in kiln_user_unit; 0: none
    localparam int INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT),  // derived, do not set
    localparam int WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int unsigned COUNT_BITS =
        DEPTHWISE_WORDS_PER_CYCLE > 1 ? $clog2(DEPTHWISE_WORDS_PER_CYCLE) : 1,
    localparam int unsigned INPUT_ADDRESS_BITS =
        DEPTHWISE_BUFFER_WORDS > 1 ? $clog2(DEPTHWISE_BUFFER_WORDS) : 1,
    localparam int unsigned ACCUMULATION_ADDRESS_BITS =
        ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1
) (
    input  logic                                 clock,
    input  logic                                 reset,
    input  logic                                 command_valid,
    output logic                                 command_ready,
    input  kiln_systolic_pkg::array_command_t    command,
    // Input fetch.
    input  logic                                 input_write_enable,
    input  logic                                 input_write_bank,
    input  logic [       INPUT_ADDRESS_BITS-1:0] input_write_address,
    input  logic [               COUNT_BITS-1:0] input_write_words,
    input  logic [DEPTHWISE_WORDS_PER_CYCLE*ARRAY_COLUMNS*INPUT_BITS-1:0] input_write_data,
    input  logic                                 input_filled,
    output logic                                 input_released,
    // Weight fetch.
    input  logic                                 weight_write_enable,
    input  logic                                 weight_write_bank,
    input  logic                                 weight_write_first,
    input  logic [ARRAY_COLUMNS*WEIGHT_BITS-1:0] weight_write_data,
    input  logic                                 weights_filled,
    output logic                                 weights_released,
    // Accumulation buffer.
    output logic                                 accumulate_valid,
    output logic                                 accumulate_bank,
    output logic [ACCUMULATION_ADDRESS_BITS-1:0] accumulate_address,
    output logic [  ARRAY_COLUMNS*PSUM_BITS-1:0] accumulate_psums,
    // Vector unit.
    output logic                                 block_done,
    input  logic                                 accumulation_released,
    // For the performance counters: see kiln_depthwise_unit.
    output logic                                 busy,
    output logic                                 stalled_input,
    output logic                                 stalled_weights,
    output logic                                 stalled_accumulation
);
  localparam int unsigned STEPS =
      (WEIGHT_BUFFER_WORDS + DEPTHWISE_MULTIPLIERS - 1) / DEPTHWISE_MULTIPLIERS;
  localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1;

  logic [DEPTHWISE_MULTIPLIERS-1:0] input_read_enable;
  logic input_read_bank, weight_read_enable, weight_read_bank;
  logic [DEPTHWISE_MULTIPLIERS*INPUT_ADDRESS_BITS-1:0] input_read_address;
  logic [DEPTHWISE_MULTIPLIERS*ARRAY_COLUMNS*INPUT_BITS-1:0] input_read_data;
  logic [STEP_BITS-1:0] weight_read_step;
  logic [DEPTHWISE_MULTIPLIERS*ARRAY_COLUMNS*WEIGHT_BITS-1:0] weight_read_data;

  kiln_depthwise_input_buffer #(
      .WORDS(DEPTHWISE_BUFFER_WORDS),
      .LANES(ARRAY_COLUMNS),
      .CODE_BITS(INPUT_BITS),
      .READS(DEPTHWISE_MULTIPLIERS),
      .WRITES(DEPTHWISE_WORDS_PER_CYCLE)
  ) input_buffer (
      .clock,
      .write_enable (input_write_enable),
      .write_bank   (input_write_bank),
      .write_address(input_write_address),
      .write_words  (input_write_words),
      .write_data   (input_write_data),
      .read_enable  (input_read_enable),
      .read_bank    (input_read_bank),
      .read_address (input_read_address),
      .read_data    (input_read_data)
  );

  kiln_depthwise_weight_buffer #(
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .DEPTHWISE_MULTIPLIERS(DEPTHWISE_MULTIPLIERS),
      .CODE_BITS(WEIGHT_BITS)
  ) weight_buffer (
      .clock,
      .write_enable(weight_write_enable),
      .write_bank  (weight_write_bank),
      .write_first (weight_write_first),
      .write_data  (weight_write_data),
      .read_enable (weight_read_enable),
      .read_bank   (weight_read_bank),
      .read_step   (weight_read_step),
      .read_data   (weight_read_data)
  );

  kiln_depthwise_unit #(
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .DEPTHWISE_MULTIPLIERS(DEPTHWISE_MULTIPLIERS),
      .DEPTHWISE_BUFFER_WORDS(DEPTHWISE_BUFFER_WORDS),
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS),
      .ACCUMULATION_LATENCY(ACCUMULATION_LATENCY),
      .DEPTHWISE_SUM_LATENCY(DEPTHWISE_SUM_LATENCY),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PSUM_FORMAT(PSUM_FORMAT),
      .PRODUCT_ROUNDED(PRODUCT_ROUNDED),
      .USER_UNIT(USER_UNIT)
  ) unit (
      .clock,
      .reset,
      .command_valid,
      .command_ready,
      .command,
      .input_filled,
      .input_released,
      .weights_filled,
      .weights_released,
      .accumulation_released,
      .block_done,
      .input_read_enable,
      .input_read_bank,
      .input_read_address,
      .input_read_data,
      .weight_read_enable,
      .weight_read_bank,
      .weight_read_step,
      .weight_read_data,
      .accumulate_valid,
      .accumulate_bank,
      .accumulate_address,
      .accumulate_psums,
      .busy,
      .stalled_input,
      .stalled_weights,
      .stalled_accumulation
  );
endmodule
