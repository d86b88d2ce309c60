// Returns whether a truncated magnitude is rounded up to the next one.
//
//   time    combinational
module kiln_round_up #(
    parameter int ROUNDING = kiln_format_pkg::ROUND_NEAREST_EVEN,
    parameter int REST_BITS = 2  // 2 or more; stochastic: 33 or more
) (
    input  logic                 negative,
    input  logic                 odd,       // the code that is kept is odd
    input  logic [REST_BITS-1:0] rest,      // the bits that are cut off; the lowest may be sticky
    input  logic [         31:0] random,    // stochastic rounding only
    output logic                 up
);

  logic half, below, unused_inputs;
  assign half = rest[REST_BITS-1];
  assign below = |rest[REST_BITS-2:0];
  assign unused_inputs = &{1'b0, negative, odd, random, half, below};

  if (ROUNDING == kiln_format_pkg::ROUND_NEAREST_EVEN) begin : g_nearest_even
    assign up = half && (below || odd);
  end else if (ROUNDING == kiln_format_pkg::ROUND_NEAREST_AWAY) begin : g_nearest_away
    assign up = half;
  end else if (ROUNDING == kiln_format_pkg::ROUND_DOWN) begin : g_down
    assign up = negative && (half || below);
  end else if (ROUNDING == kiln_format_pkg::ROUND_STOCHASTIC) begin : g_stochastic
    assign up = random < rest[REST_BITS-1-:32];
  end else begin : g_toward_zero
    assign up = 1'b0;
  end

  if (ROUNDING < 0 || ROUNDING > kiln_format_pkg::ROUND_STOCHASTIC ||
      REST_BITS < (ROUNDING == kiln_format_pkg::ROUND_STOCHASTIC ? 33 : 2)) begin : g_parameters
    $error("ROUNDING must be a mode of kiln_format_pkg, REST_BITS 2 or more (stochastic: 33)");
  end

`ifndef SYNTHESIS
  always_comb begin
    exact_number_stays : assert (rest != '0 || !up);
  end
`endif

endmodule
