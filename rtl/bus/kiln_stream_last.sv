// Marks the last beat of every packet of an AXI4-Stream whose packets have BEATS beats each.
//   beat   a beat is accepted in this cycle
//   last   TLAST of the beat that is offered; a function of registers only
module kiln_stream_last #(
    parameter int unsigned BEATS = 16
) (
    input  logic clock,
    input  logic reset,
    input  logic beat,
    output logic last
);
  if (BEATS == 1) begin : g_always
    assign last = 1'b1;
    wire unused = &{1'b0, clock, reset, beat};
  end else begin : g_counted
    localparam int unsigned BITS = $clog2(BEATS);
    logic [BITS-1:0] place;  // of the beat in its packet
    assign last = place == BITS'(BEATS - 1);
    always_ff @(posedge clock) begin
      if (reset) place <= '0;
      else if (beat) place <= last ? '0 : place + 1'b1;
    end
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) place_in_packet : assert (32'(place) < BEATS);
    end
`endif
  end
endmodule
