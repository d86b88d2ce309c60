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
  logic [INDEX_BITS-1:0] first, last;
  assign first = least >> LOW_BITS;
  assign last  = greatest >> LOW_BITS;
  assign banks = any ? ({BANKS{1'b1}} << first) & ~({BANKS{1'b1}} << last << 1) : '0;
endmodule
