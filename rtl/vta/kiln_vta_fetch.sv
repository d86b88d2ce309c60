// Fetches the instructions of a launch in order and passes each to the queue of its stage.
//
//   start        in the first cycle without reset; fetches `instructions` instructions from byte
//                address `address` on
//   request      requests the next instruction while fewer than FETCH_DEPTH are requested and not
//                yet passed on. Its word is always accepted, and decoded in the cycle in which it
//                arrives.
//   request_last the request has the lowest priority, because FETCH_STANDING or more instructions
//                are in the queues of the stages. `started` (one bit per stage) marks those that
//                leave their queue in this cycle.
//   hand         passes the oldest instruction to the queue of its stage, one per cycle, if that
//                queue has room (hand_ready, one bit per stage)
//   fault        no stage can execute the oldest instruction, which is then not passed on
module kiln_vta_fetch #(
    parameter int unsigned INSTRUCTION_QUEUE_DEPTH = 512,  // of each stage
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    parameter int unsigned ACCUMULATOR_BANKS = 4
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic [     kiln_vta_pkg::NUMBER_BITS-1:0] instructions,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] address,
    // To memory
    output logic                                      request_valid,
    input  logic                                      request_ready,
    output logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] request_address,
    output kiln_vta_pkg::read_tag_t                   request_tag,
    output logic                                      request_last,
    input  logic                                      word_valid,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] word_data,
    // To the stages' queues
    output logic [                               2:0] hand_valid,  // one-hot, by stage
    input  logic [                               2:0] hand_ready,
    input  logic [                               2:0] started,
    output logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] hand_instruction,
    output logic [     kiln_vta_pkg::NUMBER_BITS-1:0] hand_number,
    // banks that a load of accumulators writes
    output logic [             ACCUMULATOR_BANKS-1:0] hand_banks,
    output logic [                               3:0] fault,  // of instruction hand_number
    output logic                                      all_handed  // all instructions are passed on
);
  localparam int unsigned COUNT_BITS = $clog2(kiln_vta_pkg::FETCH_DEPTH + 1);
  localparam int unsigned MOST_STANDING = 3 * INSTRUCTION_QUEUE_DEPTH;
  localparam int unsigned STANDING_BITS = $clog2(MOST_STANDING + kiln_vta_pkg::FETCH_STANDING);

  logic [kiln_vta_pkg::NUMBER_BITS-1:0] requested;
  logic [COUNT_BITS-1:0] under_way;  // requested and not yet passed on
  logic [STANDING_BITS-1:0] standing;  // passed on and not yet started
  logic taken, handed, head_valid;
  assign request_valid =
      requested != instructions && under_way != COUNT_BITS'(kiln_vta_pkg::FETCH_DEPTH);
  assign taken = request_valid && request_ready;
  assign request_last = standing >= STANDING_BITS'(kiln_vta_pkg::FETCH_STANDING);

  always_comb begin
    request_tag = '0;
    request_tag.source = kiln_vta_pkg::SOURCE_FETCH;
    request_tag.number = requested;
  end

  always_ff @(posedge clock) begin
    if (reset) begin
      requested       <= '0;
      request_address <= address;
      under_way       <= '0;
      standing        <= '0;
      hand_number     <= '0;
    end else begin
      if (taken) begin
        requested       <= requested + 1'b1;
        request_address <= request_address +
            kiln_vta_pkg::ADDRESS_BITS'(kiln_vta_pkg::INSTRUCTION_BYTES);
      end
      if (handed) hand_number <= hand_number + 1'b1;
      under_way <= under_way + COUNT_BITS'(taken) - COUNT_BITS'(handed);
      standing  <= standing + STANDING_BITS'(handed) - STANDING_BITS'(started[0]) -
          STANDING_BITS'(started[1]) - STANDING_BITS'(started[2]);
    end
  end

  // ---- Words are decoded as they arrive, and what the decoder finds is stored with the word. The
  // path through the decoder and the one out of the queue are thus in different cycles.
  logic [1:0] word_stage;
  logic [2:0] word_to, head_to;  // the stage that executes the word, one-hot; 0 if none can
  logic [3:0] word_fault, head_fault;
  logic [ACCUMULATOR_BANKS-1:0] word_banks;
  kiln_vta_decoder #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .ACCUMULATOR_BANKS(ACCUMULATOR_BANKS)
  ) decoder (
      .instruction(word_data),
      .stage(word_stage),
      .fault(word_fault),
      .banks(word_banks)
  );
  assign word_to = word_fault == kiln_vta_pkg::FAULT_NONE ? 3'b001 << word_stage : '0;

  logic unused_ready;  // the queue has room for every requested word
  logic [COUNT_BITS-1:0] unused_count;
  kiln_fifo #(
      .WIDTH(7 + ACCUMULATOR_BANKS + kiln_vta_pkg::INSTRUCTION_BITS),
      .DEPTH(kiln_vta_pkg::FETCH_DEPTH)
  ) word_queue (
      .clock,
      .reset,
      .in_valid (word_valid),
      .in_ready (unused_ready),
      .in_data  ({word_to, word_fault, word_banks, word_data}),
      .out_valid(head_valid),
      .out_ready(handed),
      .out_data ({head_to, head_fault, hand_banks, hand_instruction}),
      .count    (unused_count)
  );
  assign fault = head_valid ? head_fault : kiln_vta_pkg::FAULT_NONE;
  assign hand_valid = head_valid ? head_to : '0;
  assign handed = (hand_valid & hand_ready) != '0;
  assign all_handed = hand_number == instructions;

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(3 + kiln_vta_pkg::INSTRUCTION_BITS)
  ) instruction_handshake (
      .clock,
      .reset,
      .valid(hand_valid != '0),
      .ready(handed),
      .payload({hand_valid, hand_instruction})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_stage : assert ($onehot0(hand_valid));
      in_flight_within_depth : assert (32'(under_way) <= kiln_vta_pkg::FETCH_DEPTH);
      in_flight_counts_requests : assert (
          kiln_vta_pkg::NUMBER_BITS'(under_way) == requested - hand_number);
      word_was_requested : assert (!word_valid || under_way != '0);
      word_finds_room : assert (!word_valid || unused_ready);
      started_was_handed : assert (32'(standing) + 32'(handed) >= 32'(started[0]) +
          32'(started[1]) + 32'(started[2]));
      standing_within_queues : assert (32'(standing) <= MOST_STANDING);
    end
  end
`endif
endmodule
