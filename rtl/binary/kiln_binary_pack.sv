// Joins words of results to words of a stage's input. Words of OUT_BITS bits that belong to one
// pixel fill a word of RATIO of them, lowest first; the last word of a pixel is filled with zeros.
// A word that comes in cycle t, and completes a word, is at the output in t + 1.
module kiln_binary_pack #(
    parameter  int unsigned WIDTH    = 16,
    parameter  int unsigned RATIO    = 3,
    localparam int unsigned OUT_BITS = WIDTH * RATIO,  // derived, do not set
    localparam int unsigned AT_BITS  = RATIO > 1 ? $clog2(RATIO) : 1  // derived, do not set
) (
    input  logic                clock,
    input  logic                reset,
    input  logic                in_valid,
    output logic                in_ready,
    input  logic [   WIDTH-1:0] in_data,
    input  logic                in_last,
    output logic                out_valid,
    input  logic                out_ready,
    output logic [OUT_BITS-1:0] out_data
);
  logic [AT_BITS-1:0] at;
  logic take, full;
  assign in_ready = !out_valid;
  assign take = in_valid && in_ready;
  assign full = in_last || at == AT_BITS'(RATIO - 1);

  always_ff @(posedge clock) begin
    if (take) begin
      if (at == '0) out_data <= OUT_BITS'(in_data);
      else out_data[32'(at)*WIDTH+:WIDTH] <= in_data;
    end
    if (reset) begin
      at        <= '0;
      out_valid <= 1'b0;
    end else begin
      if (take) at <= full ? '0 : at + 1'b1;
      if (take && full) out_valid <= 1'b1;
      else if (out_ready) out_valid <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(OUT_BITS)
  ) word_handshake (
      .clock,
      .reset,
      .valid(out_valid),
      .ready(out_ready),
      .payload(out_data)
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      place_in_word : assert (32'(at) < RATIO);
      whole_words_leave : assert (!out_valid || at == '0);
    end
  end
`endif
endmodule
