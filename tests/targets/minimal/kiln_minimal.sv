// A vector unit on streams: result = saturate(((a - za) * ma + (b - zb) * mb + c) >> shift), or the
// product of (a - za) and (b - zb) times ma in place of the sum.
//
// A kernel is two header beats, then `count` beats with LANES codes a and LANES codes b, of eight
// bits. A result beat holds LANES codes. All stages stop while a result beat is not taken.
//   header 0   [15:0] ma, [31:16] mb, [63:32] c
//   header 1   [0] multiply, [12:8] shift, [47:16] count, [55:48] za, [63:56] zb
// verilator lint_off DECLFILENAME
module kiln_minimal #(
    parameter int LANES = 4
) (
    input logic clock, reset,
    input logic [16*LANES-1:0] in_tdata,
    input logic in_tvalid,
    output logic in_tready,
    output logic [8*LANES-1:0] out_tdata,
    output logic out_tvalid,
    input logic out_tready
);
  logic [1:0] header;  // header beats taken: 2 while data are expected
  logic [31:0] left;  // data beats still to come
  logic signed [15:0] ma, mb;
  logic signed [31:0] c;
  logic signed [7:0] za, zb;
  logic multiply;
  logic [4:0] shift;
  logic valid1, valid2;
  logic signed [33:0] p[LANES], q[LANES];
  logic signed [47:0] sum[LANES];
  wire advance = !out_tvalid || out_tready;
  // A kernel's numbers stay until its last beat has left the stages that use them.
  wire drained = !valid1 && !valid2;
  assign in_tready = advance && (header == 2'd2 || drained);
  wire take = in_tvalid && in_tready;
  wire take_data = take && header == 2'd2;

  always_ff @(posedge clock) begin
    if (reset) begin
      {header, valid1, valid2, out_tvalid} <= '0;
    end else begin
      if (take && header == 2'd0) {header, c, mb, ma} <= {2'd1, in_tdata[63:0]};
      if (take && header == 2'd1) begin
        {zb, za, left} <= in_tdata[63:16];
        {header, shift, multiply} <= {2'd2, in_tdata[12:8], in_tdata[0]};
      end
      if (take_data) begin
        left <= left - 32'd1;
        if (left == 32'd1) header <= 2'd0;
      end
      if (advance) {valid1, valid2, out_tvalid} <= {take_data, valid1, valid2};
    end
  end

  for (genvar i = 0; i < LANES; i++) begin : g_lane
    wire signed [8:0] a = 9'(signed'(in_tdata[8*i+:8])) - 9'(za);
    wire signed [8:0] b = 9'(signed'(in_tdata[8*(LANES+i)+:8])) - 9'(zb);
    wire signed [47:0] shifted = sum[i] >>> shift;
    always_ff @(posedge clock) begin
      if (advance) begin
        p[i] <= multiply ? 34'(a) * 34'(b) : 34'(a) * 34'(ma);
        q[i] <= multiply ? '0 : 34'(b) * 34'(mb);
        sum[i] <= 48'(p[i]) * (multiply ? 48'(ma) : 48'sd1) + 48'(q[i]) + 48'(c);
        out_tdata[8*i+:8] <= shifted > 127 ? 8'h7f : shifted < -128 ? 8'h80 : shifted[7:0];
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) if (!reset && take_data) assert (left != 32'd0);
`endif
endmodule
