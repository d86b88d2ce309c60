// Shifts a number left until its top bit is set.
//
//   out     in << places; 0 if in is 0
//   places  the shift; undefined if in is 0
//   time    combinational
module kiln_normalise #(
    parameter  int WIDTH = 24,
    localparam int PLACE_BITS = WIDTH > 1 ? $clog2(WIDTH) : 1
) (
    input  logic [     WIDTH-1:0] in,
    output logic [     WIDTH-1:0] out,
    output logic [PLACE_BITS-1:0] places
);

  // A binary search: iteration i tests whether the upper 2^i bits are all 0.
  always_comb begin
    out = in;
    for (int i = PLACE_BITS - 1; i >= 0; i--) begin
      places[i] = (out >> (WIDTH - (1 << i))) == '0;
      if (places[i]) out = out << (1 << i);
    end
  end

`ifndef SYNTHESIS
  always_comb begin
    leading_one : assert (in == '0 ? out == '0 : out[WIDTH-1]);
    places_within_width : assert (in == '0 || 32'(places) < WIDTH);
  end
`endif

endmodule
