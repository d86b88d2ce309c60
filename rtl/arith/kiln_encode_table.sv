// kiln_encode_from_fp32 for tables: the code is a step function of the number. The descriptor
// stores the steps.
//
// Numbers from the key of step i up to the next key get the code of step i. The key of an fp32
// number with bits b is ~b if the sign is set and {1, b[30:0]} if it is not, so that keys order
// numbers from minus infinity to infinity, with NaNs beyond both. The first key is 0.
//
//   time       combinational
//   C++ twin   kiln::FormatTable::Encode (numerics/tables.h)
module kiln_encode_table #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::NF4,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic [    31:0] value,
    output logic [BITS-1:0] code
);

  localparam int STEPS = kiln_format_pkg::steps(FORMAT);

  logic [31:0] key;
  assign key = value[31] ? ~value : {1'b1, value[30:0]};

  // The steps that the number has reached are ones, from the first step on. The last one selects
  // the code.
  logic [STEPS:0] reached;
  logic [STEPS*BITS-1:0] codes;
  assign reached[STEPS] = 1'b0;
  for (genvar i = 0; i < STEPS; i++) begin : g_step
    localparam logic [31:0] KEY = kiln_format_pkg::step_key(FORMAT, i);
    localparam logic [7:0] CODE = kiln_format_pkg::step_code(FORMAT, i);
    assign reached[i] = i == 0 || key >= KEY;
    assign codes[i*BITS+:BITS] = reached[i] && !reached[i+1] ? CODE[BITS-1:0] : '0;
  end
  always_comb begin
    code = '0;
    for (int i = 0; i < STEPS; i++) code = code | codes[i*BITS+:BITS];
  end

`ifndef SYNTHESIS
  always_comb begin
    // Keys ascend, so that exactly one step is the last one that is reached.
    keys_ascend : assert ((reached & (reached + 1'b1)) == '0);
  end
`endif

endmodule
