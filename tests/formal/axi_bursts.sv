// module: kiln_axi_bursts
// properties: bursts stay within 4 KiB and have the beats of their runs, no run is lost,
// properties: stable addresses
// sources: bus/kiln_axi_bursts.sv memory/kiln_fifo.sv bus/kiln_handshake_checker.sv
// probes: count=dut.queue.count contents=dut.queue.contents rest_valid=dut.rest_valid
// probes: rest_beats=dut.rest_beats
// depth: 9
// induction: 2
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

  logic [1:0] count;
  logic [2*18-1:0] contents;  // {place, length - 1} of the queue's bursts
  logic rest_valid;
  logic [9:0] rest_beats;

  // Beats of accepted runs that no burst on the channel has had, and whether a run is unfinished.
  logic [12:0] owed;
  logic [12:0] queued;  // beats of the bursts in the queue
  assign queued = (count > 2'd0 ? 13'(contents[7:0]) + 13'd1 : 13'd0) +
      (count > 2'd1 ? 13'(contents[25:18]) + 13'd1 : 13'd0);

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (!run_valid || (run_beats != '0 && 32'(run_beats) <= MAX_BEATS));
    if (reset) begin
      owed <= '0;
    end else begin
      owed <= owed + (run_valid && run_ready ? 13'(run_beats) : 13'd0) -
          (axi_valid && axi_ready ? 13'(axi_len) + 13'd1 : 13'd0);
    end
    if (!reset) begin
      // A burst ends at a multiple of 4 KiB at the latest.
      within_page : assert (!axi_valid || 32'(axi_addr[11:4]) + 32'(axi_len) < 256);
      first_within_page : assert (count == 2'd0 ||
          32'(contents[15:8]) + 32'(contents[7:0]) < 256);
      second_within_page : assert (count < 2'd2 ||
          32'(contents[33:26]) + 32'(contents[25:18]) < 256);
      aligned : assert (!axi_valid || axi_addr[3:0] == '0);
      accepts_with_room : assert (!run_ready || room);
      pushes_accepted_run : assert (!(run_valid && run_ready) || burst_pushed);
      no_run_within_a_run : assert (!(run_ready && rest_valid));
      rest_within_run : assert (!rest_valid || 32'(rest_beats) < MAX_BEATS);
      // No burst without a run, and no beat of a run is lost or issued twice.
      beats_of_runs : assert (owed == queued + (rest_valid ? 13'(rest_beats) : 13'd0));
      no_burst_without_run : assert (!axi_valid || owed > 13'(axi_len));
      if (burst_pushed) begin
        last_exactly_at_end : assert (burst_last == (rest_valid ? 32'(rest_beats) <= 256 :
            32'(run_beats) + 32'(run_place[11:4]) <= 256));
      end
    end
  end
endmodule
