// module: kiln_binary_pack
// properties: a word holds the parts of its pixel in order and zeros behind them, no part is lost,
// properties: stable output
// sources: binary/kiln_binary_pack.sv bus/kiln_handshake_checker.sv
// parameters: RATIO=1 RATIO=2 RATIO=3
// probes: at=dut.at
// depth: 12
// induction: 2
module proof #(
    parameter int unsigned RATIO = 3,
    localparam int unsigned AT_BITS = RATIO > 1 ? $clog2(RATIO) : 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [1:0] in_data,
    input logic in_last,
    input logic out_ready
);
  logic in_ready, out_valid;
  logic [2*RATIO-1:0] out_data;
  kiln_binary_pack #(
      .WIDTH(2),
      .RATIO(RATIO)
  ) dut (.*);

  logic [AT_BITS-1:0] at;
  logic [1:0] parts;  // of the word that is being filled
  logic [2*RATIO-1:0] word;
  logic complete;
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (reset) begin
      parts    <= '0;
      word     <= '0;
      complete <= 1'b0;
    end else if (out_valid && out_ready) begin
      parts    <= '0;
      word     <= '0;
      complete <= 1'b0;
    end else if (in_valid && in_ready) begin
      parts    <= parts + 1'b1;
      word     <= word | (2 * RATIO)'({(2 * RATIO)'(in_data)} << (2 * 32'(parts)));
      complete <= in_last || 32'(parts) == RATIO - 1;
    end
    if (!reset) begin
      one_or_the_other : assert (in_ready != out_valid);
      leaves_exactly_when_complete : assert (out_valid == complete);
      place_follows_parts : assert (complete || 32'(at) == 32'(parts));
      parts_in_order : assert (parts == '0 || out_data == word);
      nothing_behind_parts : assert ((word >> (2 * 32'(parts))) == '0);
      parts_fit : assert (32'(parts) <= RATIO && (complete || 32'(parts) < RATIO));
      complete_has_parts : assert (!complete || parts != '0);
    end
  end
endmodule
