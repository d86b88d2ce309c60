// A kiln_fifo, cycle by cycle, whose words lie in a memory (kiln_ram_1w): for deep and wide queues.
//   time       a word accepted in cycle t (in_valid && in_ready) is at the output in t+1 at the earliest; one word a cycle in and out
//   in_ready   there is room; a function of registers only
//   count      words inside, up to DEPTH
// The memory's word comes a cycle after its address: it is asked for when the word before it leaves. A word that comes in when there is
// none before it, or the last one leaves, goes past the memory in a register.
module kiln_deep_fifo #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned DEPTH = 512,  // words, any number from 2
    localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1)  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [     WIDTH-1:0] in_data,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [     WIDTH-1:0] out_data,
    output logic [COUNT_BITS-1:0] count
);
  localparam int unsigned PLACE_BITS = $clog2(DEPTH);
  localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);

  if (DEPTH < 2) begin : g_depth
    $error("DEPTH must be 2 at least");
  end

  logic [PLACE_BITS-1:0] write_place, read_place, next_place;  // read_place: of the word at the output
  logic push, pop, none_before, passes, passed;
  logic [WIDTH-1:0] passed_data, read_data;

  assign in_ready = count != COUNT_BITS'(DEPTH);
  assign out_valid = count != '0;
  assign push = in_valid && in_ready;
  assign pop = out_valid && out_ready;
  assign next_place = read_place == LAST ? '0 : read_place + 1'b1;
  assign none_before = count == '0 || (count == COUNT_BITS'(1) && pop);
  assign passes = push && none_before;
  assign out_data = passed ? passed_data : read_data;

  kiln_ram_1w #(
      .WIDTH(WIDTH),
      .WORDS(DEPTH)
  ) storage (
      .clock,
      .write_enable(push),
      .write_address(write_place),
      .write_data(in_data),
      .read_enable(pop),
      .read_address(next_place),
      .read_data
  );

  always_ff @(posedge clock) begin
    if (passes) passed_data <= in_data;
    if (passes) passed <= 1'b1;
    else if (pop) passed <= 1'b0;
    if (reset) begin
      count       <= '0;
      write_place <= '0;
      read_place  <= '0;
    end else begin
      count <= count + COUNT_BITS'(push) - COUNT_BITS'(pop);
      if (push) write_place <= write_place == LAST ? '0 : write_place + 1'b1;
      if (pop) read_place <= next_place;
    end
  end
endmodule
