// A queue with first-word fall-through: the oldest word stands at the output while out_valid.
//   time       a word accepted in cycle t (in_valid && in_ready) is at the output in t+1 at the earliest; one word a cycle in and out
//              (DEPTH 1: a word every other cycle, because in_ready does not look at out_ready)
//   in_ready   there is room; a function of registers only
//   count      words inside, up to DEPTH
// Read asynchronously: registers or LUT memory. Deep and wide queues: kiln_deep_fifo.
module kiln_fifo #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned DEPTH = 4,  // words, any number from 1
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
  localparam int unsigned PLACE_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
  localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);

  logic [WIDTH-1:0] words[DEPTH];
  logic [PLACE_BITS-1:0] write_place, read_place;
  logic push, pop;

  assign in_ready = count != COUNT_BITS'(DEPTH);
  assign out_valid = count != '0;
  assign out_data = words[read_place];
  assign push = in_valid && in_ready;
  assign pop = out_valid && out_ready;

  always_ff @(posedge clock) begin
    if (push) words[write_place] <= in_data;
    if (reset) begin
      count       <= '0;
      write_place <= '0;
      read_place  <= '0;
    end else begin
      count <= count + COUNT_BITS'(push) - COUNT_BITS'(pop);
      if (push) write_place <= write_place == LAST ? '0 : write_place + 1'b1;
      if (pop) read_place <= read_place == LAST ? '0 : read_place + 1'b1;
    end
  end
endmodule
