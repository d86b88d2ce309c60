// Reads the stream in: writes of settings, weights and parameters, and the pixels of runs
// (docs/binary-machine.md, "Streams"). One beat per cycle.
//   message_*  a write, in the cycle after its last beat: to stage message_stage. message_codes has
//              a word of weights, message_data any other word
//   start      a run begins
//   beat_*     a beat of a pixel's record and its number
//   idle       all stages are done: the next header may be read
module kiln_binary_dispatch #(
    parameter int unsigned STAGES = 1,
    parameter int unsigned BEAT_BITS = 64,
    parameter int unsigned CODE_BITS = 54,  // of the widest stage's word of weights
    // Beats of a word of weights of each stage
    parameter int unsigned WORD_BEATS_0 = 1,
    parameter int unsigned WORD_BEATS_1 = 1,
    parameter int unsigned WORD_BEATS_2 = 1
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 in_tvalid,
    output logic                 in_tready,
    input  logic [BEAT_BITS-1:0] in_tdata,
    output logic                 message_valid,
    output logic [          3:0] message_target,
    output logic [          3:0] message_stage,
    output logic [          7:0] message_column,
    output logic [         15:0] message_address,
    output logic [         63:0] message_data,
    output logic [CODE_BITS-1:0] message_codes,
    output logic                 start,
    output logic [   STAGES-1:0] enabled,
    output logic                 beat_valid,
    input  logic                 beat_ready,
    output logic [         11:0] beat_number,
    output logic                 beat_is_input,
    input  logic                 idle
);
  localparam logic [1:0] HEADER = 2'd0;
  localparam logic [1:0] WRITE = 2'd1;
  localparam logic [1:0] RUN = 2'd2;
  localparam logic [1:0] FINISH = 2'd3;
  localparam int unsigned MOST_BEATS = (CODE_BITS + BEAT_BITS - 1) / BEAT_BITS;
  localparam int unsigned PART_BITS = MOST_BEATS > 1 ? $clog2(MOST_BEATS) : 1;

  logic [1:0] state;
  logic [3:0] target, stage, stages;
  logic [7:0] column;
  logic [15:0] address;
  logic [27:0] left, pixels, pixels_left;
  logic [11:0] record_beats, input_beats;
  logic [PART_BITS-1:0] part, last_part;
  logic takes_write, word_end, record_end;
  logic [MOST_BEATS*BEAT_BITS-1:0] codes;

  assign in_tready = state == HEADER || state == WRITE || (state == RUN && beat_ready);
  assign takes_write = state == WRITE && in_tvalid;
  always_comb begin
    last_part = '0;
    if (target == kiln_binary_pkg::TARGET_WEIGHTS) begin
      case (stage)
        4'd0: last_part = PART_BITS'(WORD_BEATS_0 - 1);
        4'd1: last_part = PART_BITS'(WORD_BEATS_1 - 1);
        default: last_part = PART_BITS'(WORD_BEATS_2 - 1);
      endcase
    end
  end
  assign word_end = part == last_part;
  assign start = state == HEADER && in_tvalid && in_tdata[3:0] == kiln_binary_pkg::COMMAND_RUN;
  assign beat_valid = state == RUN && in_tvalid;
  assign beat_is_input = beat_number < input_beats;
  assign record_end = beat_number == record_beats - 1'b1;
  for (genvar i = 0; i < STAGES; i++) begin : g_enabled
    assign enabled[i] = 4'(i) < stages;
  end
  assign message_codes = codes[CODE_BITS-1:0];

  always_ff @(posedge clock) begin
    if (reset) begin
      state <= HEADER;
      message_valid <= 1'b0;
    end else begin
      message_valid <= takes_write && word_end && target != kiln_binary_pkg::TARGET_MACHINE;
      case (state)
        HEADER:
        if (in_tvalid) begin
          if (in_tdata[3:0] == kiln_binary_pkg::COMMAND_WRITE && in_tdata[63:36] != '0)
            state <= WRITE;
          if (start) state <= RUN;
        end
        WRITE: if (in_tvalid && left == 28'd1) state <= HEADER;
        RUN:
        if (in_tvalid && beat_ready && record_end && pixels_left == 28'd1) state <= FINISH;
        default: if (idle) state <= HEADER;
      endcase
    end
    if (state == HEADER && in_tvalid) begin
      {left, address, column, stage, target} <= in_tdata[63:4];
      part <= '0;
      beat_number <= '0;
      pixels_left <= pixels;
    end
    if (takes_write) begin
      left <= left - 1'b1;
      part <= word_end ? '0 : part + 1'b1;
      if (word_end) address <= address + 1'b1;
      codes[32'(part)*BEAT_BITS+:BEAT_BITS] <= in_tdata;
      message_data <= in_tdata[63:0];
      message_target <= target;
      message_stage <= stage;
      message_column <= column;
      message_address <= address;
      if (target == kiln_binary_pkg::TARGET_MACHINE)
        {pixels, stages, input_beats, record_beats} <= in_tdata[55:0];
    end
    if (beat_valid && beat_ready) begin
      beat_number <= record_end ? '0 : beat_number + 1'b1;
      if (record_end) pixels_left <= pixels_left - 1'b1;
    end
  end
  wire unused = &{1'b0, in_tdata, codes};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      stages_exist : assert (!message_valid || 32'(message_stage) < STAGES);
      no_message_in_run : assert (!message_valid || state != RUN);
      words_are_left : assert (state != WRITE || left != '0);
      part_of_word : assert (state != WRITE || part <= last_part);
      beat_of_record : assert (state != RUN || beat_number < record_beats);
      pixels_are_left : assert (state != RUN || pixels_left != '0);
    end
  end
`endif
endmodule
