// module: kiln_vta_tokens
// properties: a token exists exactly while more were given than taken, no underflow
// sources: vta/kiln_vta_tokens.sv
// depth: 8
// induction: no, the counters of 32 bits are not visible outside the module
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

  logic [4*5-1:0] given, taken;  // 5 bits per link are enough for the depth
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume ((take & ~there) == '0);
    for (int i = 0; i < 4; i++) begin
      given[i*5+:5] <= reset ? '0 : given[i*5+:5] + 5'(give[i]);
      taken[i*5+:5] <= reset ? '0 : taken[i*5+:5] + 5'(take[i]);
    end
    if (!reset) begin
      counts : assert (there == {given[19:15] != taken[19:15], given[14:10] != taken[14:10],
          given[9:5] != taken[9:5], given[4:0] != taken[4:0]});
    end
  end
endmodule
