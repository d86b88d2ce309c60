// module: kiln_vta_tokens
// properties: a token exists exactly while more were given than taken, no underflow
// sources: vta/kiln_vta_tokens.sv
// depth: 8
// induction: 2
// probes: count0=dut.g_link[0].count count1=dut.g_link[1].count
// probes: count2=dut.g_link[2].count count3=dut.g_link[3].count
module proof (
    input logic       clock,
    input logic       reset,
    input logic [3:0] give,
    input logic [3:0] take
);
  logic [3:0] there;
  kiln_vta_tokens dut (
      .clock,
      .reset,
      .load_to_compute_give  (give[0]),
      .load_to_compute_take  (take[0]),
      .load_to_compute_there (there[0]),
      .compute_to_load_give  (give[1]),
      .compute_to_load_take  (take[1]),
      .compute_to_load_there (there[1]),
      .compute_to_store_give (give[2]),
      .compute_to_store_take (take[2]),
      .compute_to_store_there(there[2]),
      .store_to_compute_give (give[3]),
      .store_to_compute_take (take[3]),
      .store_to_compute_there(there[3])
  );

  wire [31:0] count0, count1, count2, count3;
  logic [4*32-1:0] given, taken;
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume ((take & ~there) == '0);
    for (int i = 0; i < 4; i++) begin
      given[i*32+:32] <= reset ? '0 : given[i*32+:32] + 32'(give[i]);
      taken[i*32+:32] <= reset ? '0 : taken[i*32+:32] + 32'(take[i]);
    end
    if (!reset) begin
      count_of_0 : assert (count0 == given[31:0] - taken[31:0]);
      count_of_1 : assert (count1 == given[63:32] - taken[63:32]);
      count_of_2 : assert (count2 == given[95:64] - taken[95:64]);
      count_of_3 : assert (count3 == given[127:96] - taken[127:96]);
      counts : assert (there == {count3 != 0, count2 != 0, count1 != 0, count0 != 0});
    end
  end
endmodule
