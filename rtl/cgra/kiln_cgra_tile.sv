// A tile: its spoke counter and RAM, instruction RAM, tile memories, delay lines and lanes.
//
//   next_*     control from the sequencer, one clock cycle before its effect: every tile has
//              registers of its own, because these signals go to all of its modules
//   fetch      The spoke counter looks ahead: in a clock cycle with `fetch` it steps, and with it
//              the spoke entry (read a cycle later) and the instruction (read another cycle later).
//              After `clear`, the first two cycles with `fetch` fill these stages; then `fetch` is
//              high in fabric cycles only.
//   advance    a fabric cycle. In other cycles pipeline, lines and links keep their values.
//   clear      between runs: the spoke counter is 0, and no message is valid
//   base       whether `base` masters fire in this fabric cycle, and the thread that they carry
//   in_*       messages of the links into the tile, by line: valid and thread in the fabric cycle
//              in which they arrive, data one cycle earlier (kiln_cgra_delay_line)
//   out_*      the same of the links that leave it (kiln_cgra_link)
//   result     In the clock cycle after a fabric cycle in which the lanes have computed a result
//              for an output, result_valid is high, with its output. It goes there whether or not
//              that is a fabric cycle.
//   write      messages of the asynchronous fabric: to a memory or RAM of this tile, in any cycle
//
// The pipeline of an instruction in fabric cycle c:
//   c          operands and memories are addressed, the master decides whether it fires
//   c + 1      operands are selected; multiply/shift
//   c + 2      arithmetic/logic
//   c + 3      the result is in its register
// With FLOATS, each of the two units takes two cycles, and the result is in its register in c + 5.
// PRESENT has a bit for each link into the tile; those at the ends of the row have no other end.
module kiln_cgra_tile #(
    parameter int unsigned LANES = 2,
    parameter int unsigned REACH = 2,
    parameter int unsigned MEMORY_DEPTH = 32,
    parameter int unsigned INSTRUCTION_DEPTH = 16,
    parameter int unsigned SPOKE_DEPTH = 16,
    parameter int unsigned RING = 16,
    parameter int unsigned WAIT_LIMIT = 7,
    parameter bit FLOATS = 1'b0,
    parameter logic [2*REACH-1:0] PRESENT = '1,
    localparam int unsigned LINKS = 2 * REACH,  // derived, do not set
    localparam int unsigned WIDTH = 32 * LANES,  // derived, do not set
    localparam int unsigned THREAD_BITS = $clog2(RING)  // derived, do not set
) (
    input  logic                                   clock,
    input  logic                                   next_clear,
    input  logic                                   next_fetch,
    input  logic                                   next_advance,
    input  logic [                            5:0] next_last_slot,
    input  logic                                   next_base_valid,
    input  logic [                THREAD_BITS-1:0] next_base_thread,
    input  logic [                      LINKS-1:0] in_valid,
    input  logic [          LINKS*THREAD_BITS-1:0] in_thread,
    input  logic [                LINKS*WIDTH-1:0] in_next,
    output logic [                      LINKS-1:0] out_valid,
    output logic [          REACH*THREAD_BITS-1:0] out_thread,
    output logic [                REACH*WIDTH-1:0] out_next,
    output logic                                   result_valid,
    output logic [                            2:0] result_output,
    output logic [                      WIDTH-1:0] result_data,
    input  logic                                   write_valid,
    input  logic [                            3:0] write_target,
    input  logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] write_address,
    input  logic [                      WIDTH-1:0] write_data,
    input  logic [                           63:0] write_low
);
  localparam int unsigned LINES = LINKS + 1;
  localparam int unsigned UNIT = FLOATS ? 2 : 1;  // fabric cycles that a unit of a lane takes
  localparam int unsigned LATENCY = 2 * UNIT + 1;  // from an instruction's issue to its result
  localparam int unsigned DELAYS = WAIT_LIMIT + 1;
  localparam int unsigned SPAN_BITS = DELAYS > 1 ? $clog2(DELAYS) : 1;
  localparam int unsigned SPAN = 1 << SPAN_BITS;
  localparam int unsigned SPOKE_PLACES = $clog2(SPOKE_DEPTH);
  localparam int unsigned INSTRUCTION_PLACES = $clog2(INSTRUCTION_DEPTH);

  if (REACH < 1 || LINKS > kiln_cgra_pkg::MOST_LINKS || WAIT_LIMIT > 64 || SPOKE_DEPTH > 64 ||
      INSTRUCTION_DEPTH > 64) begin : g_parameters
    $error("REACH must be 1 to 4, WAIT_LIMIT, SPOKE_DEPTH and INSTRUCTION_DEPTH 64 at most");
  end

  // Control.
  logic clear, fetch, advance, base_valid;
  logic [5:0] last_slot;
  logic [THREAD_BITS-1:0] base_thread;
  always_ff @(posedge clock) begin
    clear <= next_clear;
    fetch <= next_fetch;
    advance <= next_advance;
    last_slot <= next_last_slot;
    base_valid <= next_base_valid;
    base_thread <= next_base_thread;
  end

  // Fetch: the counter, the spoke entry of the next fabric cycle, the spoke and the instruction of
  // this one.
  logic [5:0] slot;
  logic [kiln_cgra_pkg::SPOKE_BITS-1:0] spoke_next, spoke;
  logic [kiln_cgra_pkg::INSTRUCTION_BITS-1:0] instruction;
  always_ff @(posedge clock) begin
    if (clear) slot <= '0;
    else if (fetch) slot <= slot == last_slot ? '0 : slot + 1'b1;
    if (fetch) spoke <= spoke_next;
  end
  kiln_ram_1w #(
      .WIDTH(kiln_cgra_pkg::SPOKE_BITS),
      .WORDS(SPOKE_DEPTH)
  ) spokes (
      .clock,
      .write_enable(write_valid && write_target == kiln_cgra_pkg::TARGET_SPOKES),
      .write_address(write_address[SPOKE_PLACES-1:0]),
      .write_data(write_data[31:0]),
      .read_enable(fetch),
      .read_address(slot[SPOKE_PLACES-1:0]),
      .read_data(spoke_next)
  );
  kiln_ram_1w #(
      .WIDTH(kiln_cgra_pkg::INSTRUCTION_BITS),
      .WORDS(INSTRUCTION_DEPTH)
  ) instructions (
      .clock,
      .write_enable(write_valid && write_target == kiln_cgra_pkg::TARGET_INSTRUCTIONS),
      .write_address(write_address[INSTRUCTION_PLACES-1:0]),
      .write_data({write_data[63:0], write_low}),
      .read_enable(fetch),
      .read_address(spoke_next[kiln_cgra_pkg::SPOKE_INSTRUCTION+:INSTRUCTION_PLACES]),
      .read_data(instruction)
  );

  // Lines: messages into the tile, and its own results.
  logic [LINES*SPAN-1:0] valids;
  logic [LINES*SPAN*THREAD_BITS-1:0] threads;
  logic [LINES-1:0] line_valid;
  logic [LINES*THREAD_BITS-1:0] line_thread;
  logic [LINES*WIDTH-1:0] line_next;
  logic [3*LINES-1:0] read_line;  // by operand
  logic [3*LINES*WIDTH-1:0] line_data;  // by operand
  logic [3*kiln_cgra_pkg::DELAY_BITS-1:0] delays;

  logic result_fired;
  logic [THREAD_BITS-1:0] result_thread;
  logic [WIDTH-1:0] next_result;
  assign line_valid  = {result_fired, in_valid};
  assign line_thread = {result_thread, in_thread};
  assign line_next   = {next_result, in_next};
  for (genvar i = 0; i < 3; i++) begin : g_delay
    assign delays[i*kiln_cgra_pkg::DELAY_BITS+:kiln_cgra_pkg::DELAY_BITS] = instruction[
        kiln_cgra_pkg::INSTRUCTION_OPERANDS+i*kiln_cgra_pkg::OPERAND_BITS+7+:
        kiln_cgra_pkg::DELAY_BITS];
  end
  for (genvar l = 0; l < LINES; l++) begin : g_line
    if (l == LINKS || PRESENT[l%LINKS]) begin : g_present
      logic [DELAYS-1:0] of_line;
      logic [DELAYS*THREAD_BITS-1:0] threads_of_line;
      logic [3*WIDTH-1:0] data_of_line;
      kiln_cgra_delay_line #(
          .WIDTH(WIDTH),
          .THREAD_BITS(THREAD_BITS),
          .WAIT_LIMIT(WAIT_LIMIT)
      ) line (
          .clock,
          .advance,
          .clear,
          .in_valid(line_valid[l]),
          .in_thread(line_thread[l*THREAD_BITS+:THREAD_BITS]),
          .next_data(line_next[l*WIDTH+:WIDTH]),
          .valids(of_line),
          .threads(threads_of_line),
          .read_enable({read_line[2*LINES+l], read_line[LINES+l], read_line[l]}),
          .read_delay(delays),
          .read_data(data_of_line)
      );
      assign valids[l*SPAN+:DELAYS] = of_line;
      assign threads[l*SPAN*THREAD_BITS+:DELAYS*THREAD_BITS] = threads_of_line;
      for (genvar i = 0; i < 3; i++) begin : g_data
        assign line_data[(i*LINES+l)*WIDTH+:WIDTH] = data_of_line[i*WIDTH+:WIDTH];
      end
    end else begin : g_absent
      assign valids[l*SPAN+:DELAYS] = '0;
      assign threads[l*SPAN*THREAD_BITS+:DELAYS*THREAD_BITS] = '0;
      for (genvar i = 0; i < 3; i++) begin : g_data
        assign line_data[(i*LINES+l)*WIDTH+:WIDTH] = '0;
      end
      wire unused = &{1'b0, line_valid[l], line_thread[l*THREAD_BITS+:THREAD_BITS],
                      line_next[l*WIDTH+:WIDTH], read_line[2*LINES+l], read_line[LINES+l],
                      read_line[l]};
    end
    if (SPAN > DELAYS) begin : g_pad
      assign valids[l*SPAN+DELAYS+:SPAN-DELAYS] = '0;
      assign threads[(l*SPAN+DELAYS)*THREAD_BITS+:(SPAN-DELAYS)*THREAD_BITS] = '0;
    end
  end

  // The master: whether the instruction fires, and for which thread.
  logic [SPAN_BITS-1:0] master_delay;
  logic [LINES-1:0] master_valids;
  logic [LINES*THREAD_BITS-1:0] master_threads;
  logic fires;
  logic [THREAD_BITS-1:0] thread;
  assign master_delay = spoke[kiln_cgra_pkg::SPOKE_DELAY+:SPAN_BITS];
  for (genvar l = 0; l < LINES; l++) begin : g_master
    logic [SPAN-1:0] of_line;
    logic chosen;
    assign of_line = valids[l*SPAN+:SPAN];
    assign chosen = spoke[kiln_cgra_pkg::SPOKE_LINE+:kiln_cgra_pkg::LINE_BITS] ==
        kiln_cgra_pkg::LINE_BITS'(l);
    assign master_valids[l] = chosen && of_line[master_delay];
    // Each bit of the threads by itself: words of a width that is no power of two would be chosen
    // by a shifter, which takes several times the area.
    for (genvar b = 0; b < THREAD_BITS; b++) begin : g_thread_bit
      logic [SPAN-1:0] of_bit;
      for (genvar d = 0; d < SPAN; d++) begin : g_place
        assign of_bit[d] = threads[(l*SPAN+d)*THREAD_BITS+b];
      end
      assign master_threads[l*THREAD_BITS+b] = chosen && of_bit[master_delay];
    end
  end
  always_comb begin
    if (spoke[kiln_cgra_pkg::SPOKE_BASE]) begin
      fires  = base_valid;
      thread = base_thread;
    end else begin
      fires  = master_valids != '0;
      thread = '0;
      for (int l = 0; l < LINES; l++)
        thread = thread | master_threads[l*THREAD_BITS+:THREAD_BITS];
    end
    fires = fires && spoke[kiln_cgra_pkg::SPOKE_VALID];
  end

  // Operands.
  logic [5:0] read_memory;  // by operand
  logic [2*WIDTH-1:0] memory_data;
  logic [31:0] literal, literal_now;
  logic [3*WIDTH-1:0] operands;
  assign literal = instruction[kiln_cgra_pkg::INSTRUCTION_LITERAL+:32];
  for (genvar i = 0; i < 3; i++) begin : g_operand
    kiln_cgra_operand #(
        .LANES(LANES),
        .LINES(LINES),
        .SPAN (SPAN)
    ) selection (
        .clock,
        .advance,
        .operand(instruction[
            kiln_cgra_pkg::INSTRUCTION_OPERANDS+i*kiln_cgra_pkg::OPERAND_BITS+:
            kiln_cgra_pkg::OPERAND_BITS]),
        .valids,
        .read_line(read_line[i*LINES+:LINES]),
        .read_memory(read_memory[2*i+:2]),
        .literal_now,
        .line_data(line_data[i*LINES*WIDTH+:LINES*WIDTH]),
        .memory_data,
        .value(operands[i*WIDTH+:WIDTH])
    );
  end
  for (genvar i = 0; i < 2; i++) begin : g_memory
    kiln_cgra_tile_memory #(
        .WIDTH(WIDTH),
        .DEPTH(MEMORY_DEPTH),
        .THREAD_BITS(THREAD_BITS)
    ) memory (
        .clock,
        .write_enable(write_valid && write_target == 4'(i)),
        .write_address,
        .write_data,
        .read_enable(advance && (read_memory[i] || read_memory[2+i] || read_memory[4+i])),
        .base(instruction[
            kiln_cgra_pkg::INSTRUCTION_MEMORIES+i*kiln_cgra_pkg::MEMORY_BITS+:
            kiln_cgra_pkg::ADDRESS_BITS]),
        .ring(instruction[
            kiln_cgra_pkg::INSTRUCTION_MEMORIES+(i+1)*kiln_cgra_pkg::MEMORY_BITS-1]),
        .thread,
        .read_data(memory_data[i*WIDTH+:WIDTH])
    );
`ifndef SYNTHESIS
    // A vector that an instruction reads is not written in the same cycle.
    logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] read_address;
    assign read_address = instruction[
        kiln_cgra_pkg::INSTRUCTION_MEMORIES+i*kiln_cgra_pkg::MEMORY_BITS+:
        kiln_cgra_pkg::ADDRESS_BITS] + (instruction[
        kiln_cgra_pkg::INSTRUCTION_MEMORIES+(i+1)*kiln_cgra_pkg::MEMORY_BITS-1] ?
        kiln_cgra_pkg::ADDRESS_BITS'(thread) : '0);
    always_ff @(posedge clock) begin
      if (cleared && !clear && advance && fires &&
          (read_memory[i] || read_memory[2+i] || read_memory[4+i])) begin
        assert (32'(read_address) < MEMORY_DEPTH);
        assert (!(write_valid && write_target == 4'(i) && write_address == read_address));
      end
    end
`endif
  end

  // The pipeline's control: bit or word k - 1 belongs to the instruction issued k fabric cycles
  // ago.
  localparam int unsigned CONTROL_BITS = 4 + LINKS + THREAD_BITS;
  localparam int unsigned LOGIC_BITS = kiln_cgra_pkg::LOGIC_BITS + 1;
  logic [LATENCY-1:0] fired;
  logic [LATENCY*CONTROL_BITS-1:0] control;
  logic [(UNIT+1)*LOGIC_BITS-1:0] logic_control;
  logic [CONTROL_BITS-1:0] control_now;
  logic [kiln_cgra_pkg::MULTIPLY_BITS-1:0] multiply;
  logic [kiln_cgra_pkg::LOGIC_BITS-1:0] logic_operation;
  logic gated, to_output, computed;
  logic [LINKS-1:0] driven;
  always_ff @(posedge clock) begin
    if (clear) fired <= '0;
    else if (advance) fired <= {fired[LATENCY-2:0], fires};
    computed <= advance && !clear;
    if (advance) begin
      multiply <= instruction[kiln_cgra_pkg::MULTIPLY_BITS-1:0];
      literal_now <= literal;
      logic_control <= {
        logic_control[UNIT*LOGIC_BITS-1:0],
        instruction[kiln_cgra_pkg::INSTRUCTION_GATED],
        instruction[kiln_cgra_pkg::INSTRUCTION_LOGIC+:kiln_cgra_pkg::LOGIC_BITS]
      };
      control <= {
        control[(LATENCY-1)*CONTROL_BITS-1:0],
        spoke[kiln_cgra_pkg::SPOKE_OUTPUTS],
        spoke[kiln_cgra_pkg::SPOKE_OUTPUT+:3],
        spoke[kiln_cgra_pkg::SPOKE_LINKS+:LINKS],
        thread
      };
    end
  end
  assign {gated, logic_operation} = logic_control[UNIT*LOGIC_BITS+:LOGIC_BITS];
  assign control_now = control[(LATENCY-1)*CONTROL_BITS+:CONTROL_BITS];
  assign {to_output, result_output, driven, result_thread} = control_now;
  assign result_fired = fired[LATENCY-1];

  for (genvar i = 0; i < LANES; i++) begin : g_lane
    kiln_cgra_lane #(
        .FLOATS(FLOATS)
    ) lane (
        .clock,
        .advance,
        .multiply,
        .in1(operands[i*32+:32]),
        .in2(operands[WIDTH+i*32+:32]),
        .in3(operands[2*WIDTH+i*32+:32]),
        .logic_operation,
        .gated,
        .next(next_result[i*32+:32]),
        .result(result_data[i*32+:32])
    );
  end

  assign result_valid = computed && result_fired && to_output;
  kiln_cgra_link #(
      .WIDTH(WIDTH),
      .THREAD_BITS(THREAD_BITS),
      .REACH(REACH)
  ) links (
      .clock,
      .advance,
      .clear,
      .valid(driven & {LINKS{result_fired}}),
      .thread(result_thread),
      .data(result_data),
      .out_valid,
      .out_thread,
      .out_next
  );

  wire unused = &{1'b0, spoke, spoke_next, instruction, write_address, write_data, slot};

`ifndef SYNTHESIS
  logic cleared = 1'b0;
  always_ff @(posedge clock) begin
    cleared <= cleared || clear;
    if (cleared) begin
      spokes_within_depth : assert (!write_valid ||
          write_target != kiln_cgra_pkg::TARGET_SPOKES || 32'(write_address) < SPOKE_DEPTH);
      instructions_within_depth : assert (!write_valid ||
          write_target != kiln_cgra_pkg::TARGET_INSTRUCTIONS ||
          32'(write_address) < INSTRUCTION_DEPTH);
    end
    if (cleared && !clear) begin
      slot_within_interval : assert (slot <= last_slot);
      slot_within_spokes : assert (!fetch || 32'(slot) < SPOKE_DEPTH);
      fabric_cycles_fetch : assert (!advance || fetch);
      instruction_exists : assert (!advance || !fires ||
          32'(spoke[kiln_cgra_pkg::SPOKE_INSTRUCTION+:6]) < INSTRUCTION_DEPTH);
    end
  end
`endif
endmodule
