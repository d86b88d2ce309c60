// A table of constants: one word of CONTENTS for each index. It is described as a memory that is
// never written, so that synthesis can choose a ROM or gates.
//
//   time    combinational
module kiln_constant_table #(
    parameter  int WIDTH = 32,
    parameter  int DEPTH = 16,
    parameter  logic [WIDTH*DEPTH-1:0] CONTENTS = '0,
    localparam int INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic [INDEX_BITS-1:0] index,
    output logic [     WIDTH-1:0] word
);

  logic [WIDTH-1:0] words[DEPTH];
  initial begin
    for (int i = 0; i < DEPTH; i++) words[i] = CONTENTS[i*WIDTH+:WIDTH];
  end
  assign word = words[index];

endmodule
