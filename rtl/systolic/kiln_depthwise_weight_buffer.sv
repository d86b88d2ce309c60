// The double buffer between weight fetch and the depthwise unit: two banks with the taps of one
// column tile each. A tap is one word of ARRAY_COLUMNS codes; DEPTHWISE_MULTIPLIERS consecutive
// taps are read together.
//   write       The next tap, in row-major order (ky, kx), in the cycle of write_enable;
//               write_first says that it is tap 0. Readable from the next cycle on.
//   read        Taps from step * DEPTHWISE_MULTIPLIERS on; address in cycle t, data from t + 1 on
//               until the next read. Taps after the last one have the content of an earlier fill;
//               the depthwise unit does not multiply them.
module kiln_depthwise_weight_buffer #(
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,  // maximum number of taps of a bank
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 9,
    parameter int unsigned CODE_BITS = 8,  // bits of a code of the weight format
    localparam int unsigned WORD_BITS = ARRAY_COLUMNS * CODE_BITS,  // derived, do not set
    localparam int unsigned STEPS =
        (WEIGHT_BUFFER_WORDS + DEPTHWISE_MULTIPLIERS - 1) / DEPTHWISE_MULTIPLIERS,
    localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1
) (
    input  logic                                       clock,
    // From weight fetch.
    input  logic                                       write_enable,
    input  logic                                       write_bank,
    input  logic                                       write_first,
    input  logic [                      WORD_BITS-1:0] write_data,
    // To the depthwise unit: tap step * DEPTHWISE_MULTIPLIERS + i in word i.
    input  logic                                       read_enable,
    input  logic                                       read_bank,
    input  logic [                      STEP_BITS-1:0] read_step,
    output logic [DEPTHWISE_MULTIPLIERS*WORD_BITS-1:0] read_data
);
  localparam int unsigned PLACE_BITS = $clog2(2 * STEPS);
  localparam int unsigned LANE_BITS = DEPTHWISE_MULTIPLIERS > 1 ? $clog2(DEPTHWISE_MULTIPLIERS) : 1;

  // Returns the memory address of a step's taps.
  function automatic [PLACE_BITS-1:0] place(input logic bank, input logic [STEP_BITS-1:0] step);
    place = (bank ? PLACE_BITS'(STEPS) : '0) + PLACE_BITS'(step);
  endfunction

  // The position of the next tap unless it is the first.
  logic [LANE_BITS-1:0] next_lane, lane;
  logic [STEP_BITS-1:0] next_step, step;
  assign lane = write_first ? '0 : next_lane;
  assign step = write_first ? '0 : next_step;
  always_ff @(posedge clock) begin
    if (write_enable) begin
      next_lane <= lane == LANE_BITS'(DEPTHWISE_MULTIPLIERS - 1) ? '0 : lane + 1'b1;
      next_step <= lane == LANE_BITS'(DEPTHWISE_MULTIPLIERS - 1) ? step + 1'b1 : step;
    end
  end

  for (genvar i = 0; i < DEPTHWISE_MULTIPLIERS; i++) begin : g_multiplier
    kiln_ram_1w #(
        .WIDTH(WORD_BITS),
        .WORDS(2 * STEPS)
    ) memory (
        .clock,
        .write_enable (write_enable && lane == LANE_BITS'(i)),
        .write_address(place(write_bank, step)),
        .write_data,
        .read_enable,
        .read_address (place(read_bank, read_step)),
        .read_data    (read_data[i*WORD_BITS+:WORD_BITS])
    );
  end
endmodule
