// Shifts down; the lowest bit of what comes out is set, too, when a bit that is shifted out was ("sticky"). One later
// rounding at two bits or more above the lowest one is then that of the exact number.
//
//   time    combinational
module kiln_shift_right_sticky #(
    parameter int WIDTH = 24,
    parameter int PLACE_BITS = 5
) (
    input  logic [     WIDTH-1:0] in,
    input  logic [PLACE_BITS-1:0] places,  // WIDTH and more leave the sticky bit alone
    output logic [     WIDTH-1:0] out
);

  logic lost;
  assign lost = |(in & ~({WIDTH{1'b1}} << places));
  assign out  = (in >> places) | WIDTH'(lost);

endmodule
