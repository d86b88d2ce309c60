// module: kiln_deep_fifo
// properties: order and contents, count, stable output
// sources: memory/kiln_deep_fifo.sv memory/kiln_ram_1w.sv bus/kiln_handshake_checker.sv
// parameters: DEPTH=2 DEPTH=3
// depth: 12
// induction: 2
// probes: words=dut.storage.contents read_place=dut.read_place
// probes: followed=dut.followed followed_place=dut.followed_place followed_word=dut.followed_word
module proof #(
    parameter int unsigned DEPTH = 4
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [3:0] in_data,
    input logic out_ready
);
  logic in_ready, out_valid;
  logic [3:0] out_data;
  logic [$clog2(DEPTH + 1)-1:0] count;
  kiln_deep_fifo #(
      .WIDTH(4),
      .DEPTH(DEPTH)
  ) dut (.*);

  kiln_handshake_checker #(
      .WIDTH(4)
  ) output_handshake (
      .clock,
      .reset,
      .valid(out_valid),
      .ready(out_ready),
      .payload(out_data)
  );

  localparam int unsigned PLACE_BITS = $clog2(DEPTH);
  logic [4*DEPTH-1:0] words;
  logic [PLACE_BITS-1:0] read_place, followed_place;
  logic followed;
  logic [3:0] followed_word;

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (!reset) begin
      full_exactly_at_depth : assert (in_ready == (32'(count) < DEPTH));
      empty_exactly_at_zero : assert (out_valid == (count != '0));
      oldest_word_at_output : assert (count == '0 || out_data == words[32'(read_place)*4+:4]);
      followed_stored : assert (!followed || words[32'(followed_place)*4+:4] == followed_word);
      if (begun && !$past(reset)) begin
        count_follows_handshakes : assert (32'(count) == 32'($past(count)) +
            32'($past(in_valid && in_ready)) - 32'($past(out_valid && out_ready)));
      end
      if (begun && $past(reset)) empty_after_reset : assert (count == '0);
    end
  end
endmodule
