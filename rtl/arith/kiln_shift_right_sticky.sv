// Shifts right; a set bit that is shifted out also sets the lowest bit of the result ("sticky").
// One later rounding at least two bits above the lowest bit then gives the rounding of the exact
// number.
//
//   time    combinational
module kiln_shift_right_sticky #(
    parameter int WIDTH = 24,
    parameter int PLACE_BITS = 5
) (
    input  logic [     WIDTH-1:0] in,
    input  logic [PLACE_BITS-1:0] places,  // with WIDTH or more only the sticky bit remains
    output logic [     WIDTH-1:0] out
);

  logic lost;
  assign lost = |(in & ~({WIDTH{1'b1}} << places));
  assign out  = (in >> places) | WIDTH'(lost);

`ifndef SYNTHESIS
  always_comb begin
    nonzero_stays_nonzero : assert ((in == '0) == (out == '0));
  end
`endif

endmodule
