// Passes the first KEEP of the CG words of each pixel and drops the others: the channels with which
// a convolution fills up its last pass. Pops a word in each cycle in which there is one and, if it
// is kept, room for it, and pushes it in the same cycle.
module kiln_dataflow_crop #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned CG = 2,  // words of a pixel of the input
    parameter int unsigned KEEP = 1  // words of a pixel of the output, 1 to CG - 1
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    output logic             in_pop,
    input  logic             out_room,
    output logic             out_reserve,
    output logic             out_push,
    output logic [WIDTH-1:0] out_data
);
  localparam int unsigned WORD_BITS = $clog2(CG);
  if (KEEP < 1 || KEEP >= CG) begin : g_parameters
    $error("KEEP must be between 1 and CG - 1");
  end
  logic [WORD_BITS-1:0] word;
  logic is_kept;
  assign is_kept = word < WORD_BITS'(KEEP);
  assign in_pop = in_valid && (out_room || !is_kept);
  assign out_push = in_pop && is_kept;
  assign out_reserve = out_push;
  assign out_data = in_data;
  always_ff @(posedge clock) begin
    if (reset) word <= '0;
    else if (in_pop) word <= word == WORD_BITS'(CG - 1) ? '0 : word + 1'b1;
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      word_in_range : assert (32'(word) < CG);
      popped_only_when_valid : assert (!in_pop || in_valid);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
