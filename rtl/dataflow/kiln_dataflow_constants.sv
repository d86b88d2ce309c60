// A cyclic sequence of constants: `word` is word 0 of a memory, then word 1, and so on, and after
// the last word again word 0.
//   take   the word is used in this cycle; the next one is at `word` from the next cycle on
//   time   `word` is valid from the second cycle after the reset on
module kiln_dataflow_constants #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned WORDS = 4,
    parameter FILE = "",  // contents, as kiln_dataflow_rom reads them
    parameter int unsigned MEMORY = 0  // 0 LUTs, 1 block memory
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             take,
    output logic [WIDTH-1:0] word
);
  localparam int unsigned PLACE_BITS = WORDS > 1 ? $clog2(WORDS) : 1;
  logic loaded, read;  // loaded: `word` holds a word of the sequence
  logic [PLACE_BITS-1:0] place;  // the next word to be read
  assign read = take || !loaded;
  kiln_dataflow_rom #(
      .WIDTH(WIDTH),
      .DEPTH(WORDS),
      .FILE(FILE),
      .MEMORY(MEMORY)
  ) rom (
      .clock,
      .read_enable(read),
      .read_address(place),
      .read_data(word)
  );
  always_ff @(posedge clock) begin
    if (reset) begin
      loaded <= 1'b0;
      place  <= '0;
    end else begin
      loaded <= 1'b1;
      if (read) place <= place == PLACE_BITS'(WORDS - 1) ? '0 : place + 1'b1;
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      place_in_range : assert (32'(place) < WORDS);
      taken_only_when_loaded : assert (!take || loaded);
    end
  end
`endif
endmodule
