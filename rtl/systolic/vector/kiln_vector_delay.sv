// A delay line of the vector unit: delays the inputs by CYCLES cycles in which `advance` is high
// (0: combinational). Only valid is reset; data registers change only when a word arrives.
module kiln_vector_delay #(
    parameter int unsigned WIDTH  = 8,
    parameter int unsigned CYCLES = 1
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             advance,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    output logic [WIDTH-1:0] out_data
);
  if (CYCLES == 0) begin : g_now
    assign out_valid = in_valid;
    assign out_data  = in_data;
    wire unused_clock = &{1'b0, clock, reset, advance};
  end else begin : g_registers
    logic [CYCLES-1:0] valids;
    logic [CYCLES*WIDTH-1:0] words;
    for (genvar i = 0; i < CYCLES; i++) begin : g_register
      logic former_valid;
      logic [WIDTH-1:0] former;
      if (i == 0) begin : g_first
        assign former_valid = in_valid;
        assign former       = in_data;
      end else begin : g_next
        assign former_valid = valids[i-1];
        assign former       = words[(i-1)*WIDTH+:WIDTH];
      end
      always_ff @(posedge clock) begin
        if (reset) valids[i] <= 1'b0;
        else if (advance) valids[i] <= former_valid;
        if (advance && former_valid) words[i*WIDTH+:WIDTH] <= former;
      end
    end
    assign out_valid = valids[CYCLES-1];
    assign out_data  = words[(CYCLES-1)*WIDTH+:WIDTH];
  end
endmodule
