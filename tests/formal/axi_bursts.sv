// module: kiln_axi_bursts
// properties: bursts stay within 4 KiB, no run is lost, stable addresses
// sources: bus/kiln_axi_bursts.sv memory/kiln_fifo.sv bus/kiln_handshake_checker.sv
// depth: 9
// induction: no, the contents of the address queue are not part of the invariants
module proof (
    input logic        clock,
    input logic        reset,
    input logic        run_valid,
    input logic [13:4] run_place,
    input logic [ 9:0] run_beats,
    input logic        room,
    input logic        axi_ready
);
  localparam int unsigned MAX_BEATS = 700;
  logic run_ready, burst_pushed, burst_last, axi_valid;
  logic [13:0] axi_addr;
  logic [7:0] axi_len;
  kiln_axi_bursts #(
      .ADDRESS_BITS(14),
      .DATA_BYTES(16),
      .MAX_BEATS(MAX_BEATS)
  ) dut (.*);

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (!run_valid || (run_beats != '0 && 32'(run_beats) <= MAX_BEATS));
    if (!reset) begin
      // A burst ends at a multiple of 4 KiB at the latest.
      within_page : assert (!axi_valid || 32'(axi_addr[11:4]) + 32'(axi_len) < 256);
      aligned : assert (!axi_valid || axi_addr[3:0] == '0);
      accepts_with_room : assert (!run_ready || room);
      pushes_accepted_run : assert (!(run_valid && run_ready) || burst_pushed);
    end
  end
endmodule
