// The binary machine: one to three stages behind one AXI4-Stream in and one out
// (docs/binary-machine.md).
module kiln_binary #(
    parameter  int unsigned STAGES           = 1,
    parameter  int unsigned CHANNELS_0       = 8,
    parameter  int unsigned CHANNELS_1       = 4,
    parameter  int unsigned CHANNELS_2       = 4,
    parameter  int unsigned COLUMNS_0        = 2,
    parameter  int unsigned COLUMNS_1        = 2,
    parameter  int unsigned COLUMNS_2        = 2,
    parameter  int unsigned COLUMNS_PER_REQUANTISER = 1,
    parameter  int unsigned GROUP            = 3,
    parameter  int unsigned STEPS            = 3,
    parameter  int unsigned ACTIVATION_BITS  = 8,
    parameter  int unsigned ACCUMULATOR_BITS = 28,
    parameter  int unsigned COLUMN_DEPTH     = 4,
    parameter  int unsigned ROW_WORDS        = 16,
    parameter  int unsigned WEIGHT_WORDS     = 8,
    parameter  int unsigned SKIP_BEATS       = 16,
    parameter  int unsigned BEAT_BYTES       = 8,
    localparam int unsigned BEAT_BITS        = 8 * BEAT_BYTES  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 in_tvalid,
    output logic                 in_tready,
    input  logic [BEAT_BITS-1:0] in_tdata,
    output logic                 out_tvalid,
    input  logic                 out_tready,
    output logic [BEAT_BITS-1:0] out_tdata
);
  // Bits of a word of weights of each stage, and of the widest one.
  localparam int unsigned CODES_0 = CHANNELS_0 * STEPS * GROUP;
  localparam int unsigned CODES_1 = STAGES > 1 ? CHANNELS_1 * STEPS * GROUP : 1;
  localparam int unsigned CODES_2 = STAGES > 2 ? CHANNELS_2 * STEPS * GROUP : 1;
  localparam int unsigned CODES_01 = CODES_0 > CODES_1 ? CODES_0 : CODES_1;
  localparam int unsigned CODE_BITS = CODES_01 > CODES_2 ? CODES_01 : CODES_2;

  if (STAGES < 1 || STAGES > 3 || CHANNELS_0 * ACTIVATION_BITS % BEAT_BITS != 0 ||
      COLUMNS_PER_REQUANTISER == 0 ||
      (COLUMNS_PER_REQUANTISER & (COLUMNS_PER_REQUANTISER - 1)) != 0) begin : g_parameters
    $error("STAGES from 1 to 3, CHANNELS_0 of whole beats, COLUMNS_PER_REQUANTISER a power of two");
  end

  // -----------------------------------------------------------------------------------------------
  // The stream in

  logic first_valid, first_ready, unused_first_last;
  logic [BEAT_BITS-1:0] first;
  logic [BEAT_BYTES-1:0] unused_first_keep;
  kiln_axi_stream_register #(
      .DATA_BYTES(BEAT_BYTES)
  ) source (
      .clock,
      .reset,
      .in_tvalid,
      .in_tready,
      .in_tdata,
      .in_tkeep('1),
      .in_tlast(1'b0),
      .out_tvalid(first_valid),
      .out_tready(first_ready),
      .out_tdata(first),
      .out_tkeep(unused_first_keep),
      .out_tlast(unused_first_last)
  );

  logic message_valid, start, beat_valid, beat_ready, beat_is_input;
  logic [3:0] message_target, message_stage;
  logic [7:0] message_column;
  logic [15:0] message_address;
  logic [63:0] message_data;
  logic [CODE_BITS-1:0] message_codes;
  logic [STAGES-1:0] enabled, idle, skip_wanted, skip_room;
  logic [11:0] beat_number;
  kiln_binary_dispatch #(
      .STAGES(STAGES),
      .BEAT_BITS(BEAT_BITS),
      .CODE_BITS(CODE_BITS),
      .WORD_BEATS_0((CODES_0 + BEAT_BITS - 1) / BEAT_BITS),
      .WORD_BEATS_1((CODES_1 + BEAT_BITS - 1) / BEAT_BITS),
      .WORD_BEATS_2((CODES_2 + BEAT_BITS - 1) / BEAT_BITS)
  ) dispatch (
      .clock,
      .reset,
      .in_tvalid(first_valid),
      .in_tready(first_ready),
      .in_tdata(first),
      .message_valid,
      .message_target,
      .message_stage,
      .message_column,
      .message_address,
      .message_data,
      .message_codes,
      .start,
      .enabled,
      .beat_valid,
      .beat_ready,
      .beat_number,
      .beat_is_input,
      .idle(&idle)
  );

  // A beat goes to the first stage's word and to the queues of what is added, all in one cycle.
  logic word_room;
  assign beat_ready = (!beat_is_input || word_room) && (&(skip_room | ~skip_wanted));

  // -----------------------------------------------------------------------------------------------
  // Stages

  logic [STAGES-1:0] emit_valid, emit_ready;
  logic [STAGES*BEAT_BITS-1:0] emit_beats;
  for (genvar i = 0; i < STAGES; i++) begin : g_stage
    localparam int unsigned CHANNELS = i == 0 ? CHANNELS_0 : i == 1 ? CHANNELS_1 : CHANNELS_2;
    localparam int unsigned COLUMNS = i == 0 ? COLUMNS_0 : i == 1 ? COLUMNS_1 : COLUMNS_2;
    localparam int unsigned OUT_BITS = COLUMNS * ACTIVATION_BITS;
    logic word_valid, word_ready;
    logic [CHANNELS*ACTIVATION_BITS-1:0] word;
    logic forward_valid, forward_ready, forward_last;
    logic [OUT_BITS-1:0] forward_data, emit_data;
    if (i == 0) begin : g_first
      kiln_binary_pack #(
          .WIDTH(BEAT_BITS),
          .RATIO(CHANNELS * ACTIVATION_BITS / BEAT_BITS)
      ) pack (
          .clock,
          .reset,
          .in_valid(beat_valid && beat_ready && beat_is_input),
          .in_ready(word_room),
          .in_data(first),
          .in_last(1'b0),
          .out_valid(word_valid),
          .out_ready(word_ready),
          .out_data(word)
      );
    end else begin : g_next
      localparam int unsigned BEFORE_BITS = (i == 1 ? COLUMNS_0 : COLUMNS_1) * ACTIVATION_BITS;
      kiln_binary_pack #(
          .WIDTH(BEFORE_BITS),
          .RATIO(CHANNELS * ACTIVATION_BITS / BEFORE_BITS)
      ) pack (
          .clock,
          .reset,
          .in_valid(g_stage[i-1].forward_valid),
          .in_ready(g_stage[i-1].forward_ready),
          .in_data(g_stage[i-1].forward_data),
          .in_last(g_stage[i-1].forward_last),
          .out_valid(word_valid),
          .out_ready(word_ready),
          .out_data(word)
      );
    end
    if (i == STAGES - 1) begin : g_last
      assign forward_ready = 1'b1;
      wire unused = &{1'b0, forward_valid, forward_last, forward_data};
    end

    logic skips, skip_valid, skip_ready;
    logic [11:0] skip_first, skip_last;
    logic [BEAT_BITS-1:0] skip_data;
    logic [$clog2(SKIP_BEATS+1)-1:0] unused_count;
    assign skip_wanted[i] = enabled[i] && skips && beat_number >= skip_first &&
        beat_number <= skip_last;
    kiln_deep_fifo #(
        .WIDTH(BEAT_BITS),
        .DEPTH(SKIP_BEATS)
    ) skip_queue (
        .clock,
        .reset,
        .in_valid(beat_valid && beat_ready && skip_wanted[i]),
        .in_ready(skip_room[i]),
        .in_data(first),
        .out_valid(skip_valid),
        .out_ready(skip_ready),
        .out_data(skip_data),
        .count(unused_count)
    );

    kiln_binary_stage #(
        .CHANNELS(CHANNELS),
        .COLUMNS(COLUMNS),
        .COLUMNS_PER_REQUANTISER(COLUMNS_PER_REQUANTISER),
        .GROUP(GROUP),
        .STEPS(STEPS),
        .ACTIVATION_BITS(ACTIVATION_BITS),
        .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
        .COLUMN_DEPTH(COLUMN_DEPTH),
        .ROW_WORDS(ROW_WORDS),
        .WEIGHT_WORDS(WEIGHT_WORDS),
        .BEAT_BITS(BEAT_BITS)
    ) stage (
        .clock,
        .reset,
        .start(start && enabled[i]),
        .idle(idle[i]),
        .message_valid(message_valid && message_stage == 4'(i)),
        .message_target,
        .message_column,
        .message_address,
        .message_data,
        .message_codes(message_codes[CHANNELS*STEPS*GROUP-1:0]),
        .in_valid(word_valid),
        .in_ready(word_ready),
        .in_data(word),
        .skips,
        .skip_first,
        .skip_last,
        .skip_valid,
        .skip_ready,
        .skip_data,
        .forward_valid,
        .forward_ready,
        .forward_data,
        .forward_last,
        .emit_valid(emit_valid[i]),
        .emit_ready(emit_ready[i]),
        .emit_data
    );
    // A beat of results: the codes, and in its last byte the number of the stage.
    assign emit_beats[i*BEAT_BITS+:BEAT_BITS] = {8'(i), (BEAT_BITS - 8)'(emit_data)};
`ifndef SYNTHESIS
    // A run begins without words of the last one.
    always_ff @(posedge clock) if (!reset && start) assert (!word_valid && !skip_valid);
`endif
  end

  // -----------------------------------------------------------------------------------------------
  // The stream out: the last stage goes first; a beat that has to wait is not replaced.

  localparam int unsigned STAGE_BITS = STAGES > 1 ? $clog2(STAGES) : 1;
  logic result_valid, result_ready, waits;
  logic [STAGE_BITS-1:0] latest, waiting, chosen;
  logic [BEAT_BITS-1:0] result;
  always_comb begin
    latest = '0;
    for (int i = 0; i < STAGES; i++) if (emit_valid[i]) latest = STAGE_BITS'(i);
    chosen = waits ? waiting : latest;
    result_valid = emit_valid != '0;
    result = emit_beats[32'(chosen)*BEAT_BITS+:BEAT_BITS];
    emit_ready = '0;
    emit_ready[chosen] = result_valid && result_ready;
  end
  always_ff @(posedge clock) begin
    waiting <= chosen;
    waits   <= !reset && result_valid && !result_ready;
  end
  logic unused_last;
  logic [BEAT_BYTES-1:0] unused_keep;
  kiln_axi_stream_register #(
      .DATA_BYTES(BEAT_BYTES)
  ) sink (
      .clock,
      .reset,
      .in_tvalid(result_valid),
      .in_tready(result_ready),
      .in_tdata(result),
      .in_tkeep('1),
      .in_tlast(1'b0),
      .out_tvalid,
      .out_tready,
      .out_tdata,
      .out_tkeep(unused_keep),
      .out_tlast(unused_last)
  );

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(BEAT_BITS)
  ) input_handshake (
      .clock,
      .reset,
      .valid(in_tvalid),
      .ready(in_tready),
      .payload(in_tdata)
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      writes_between_runs : assert (!message_valid || (&idle));
      starts_when_idle : assert (!start || (&idle));
      one_stage_leaves : assert ($onehot0(emit_ready) && (emit_ready & ~emit_valid) == '0);
      stage_exists : assert (!result_valid || 32'(chosen) < STAGES);
      waiting_beat_stays : assert (!waits || emit_valid[waiting]);
    end
  end
`endif
endmodule
