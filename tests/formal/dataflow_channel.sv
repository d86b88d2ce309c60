// module: kiln_dataflow_channel
// properties: credits, order and contents: no reserved word is ever refused
// sources: dataflow/kiln_dataflow_channel.sv memory/kiln_fifo.sv memory/kiln_deep_fifo.sv memory/kiln_ram_1w.sv bus/kiln_handshake_checker.sv
// parameters: DEPTH=1 DEPTH=3 DEPTH=4
// depth: 12
// induction: 3
module proof #(
    parameter int unsigned DEPTH = 4,
    localparam int unsigned RESERVE = DEPTH > 1 ? 2 : 1,
    localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1)
) (
    input logic clock,
    input logic reset,
    input logic reserve,
    input logic push,
    input logic [3:0] push_data,
    input logic pop,
    input logic clear
);
  logic room, valid;
  logic [3:0] data;
  logic [COUNT_BITS-1:0] level, highest;
  kiln_dataflow_channel #(
      .WIDTH(4),
      .DEPTH(DEPTH),
      .RESERVE(RESERVE),
      .MEASURE(1'b1)
  ) dut (.*);

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (!reset) begin
      valid_only_with_level : assert (!valid || level != '0);
      room_exactly_when_free : assert (room == (DEPTH - 32'(level) >= RESERVE));
      if (begun && !$past(reset)) begin
        level_follows_credits : assert (32'(level) == 32'($past(level)) +
            ($past(reserve) ? RESERVE : 0) - 32'($past(pop)));
      end
      if (begun && $past(reset)) empty_after_reset : assert (level == '0 && !valid);
    end
  end
endmodule
