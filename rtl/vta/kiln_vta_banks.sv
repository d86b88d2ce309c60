// Computes the accumulator banks that a range of indices touches: all banks from that of its least
// index to that of its greatest. Used by the examiner and the decoder. Combinational.
module kiln_vta_banks #(
    parameter int unsigned INDEX_BITS = 11,
    parameter int unsigned BANKS = 4  // equal parts of the index range, a power of two
) (
    input  logic                  any,  // the range is not empty
    input  logic [INDEX_BITS-1:0] least,
    input  logic [INDEX_BITS-1:0] greatest,
    output logic [     BANKS-1:0] banks
);
  localparam int unsigned LOW_BITS = INDEX_BITS - $clog2(BANKS);
  localparam int unsigned BANK_BITS = BANKS > 1 ? $clog2(BANKS) : 1;
  logic [INDEX_BITS-1:0] first, last;
  assign first = least >> LOW_BITS;
  assign last  = greatest >> LOW_BITS;
  assign banks = any ? ({BANKS{1'b1}} << first) & ~({BANKS{1'b1}} << last << 1) : '0;

  if ((BANKS & (BANKS - 1)) != 0 || BANKS > (1 << INDEX_BITS)) begin : g_parameters
    $error("BANKS must be a power of two, at most the number of indices");
  end

`ifndef SYNTHESIS
  always_comb begin
    if (any && least <= greatest) begin
      banks_exist : assert (32'(first) < BANKS && 32'(last) < BANKS);
      ends_included : assert (banks[first[BANK_BITS-1:0]] && banks[last[BANK_BITS-1:0]]);
    end
    nothing_touches_nothing : assert (any || banks == '0);
  end
`endif
endmodule
