// The tokens between neighbouring stages: four counters of 32 bits.
//   take, give   pulses; a counter may be taken from in a cycle in which it is `there`, and what is given in t is there in t + 1
// They stay from one launch to the next.
module kiln_vta_tokens (
    input  logic clock,
    input  logic reset,
    input  logic load_to_compute_give,
    input  logic load_to_compute_take,
    output logic load_to_compute_there,
    input  logic compute_to_load_give,
    input  logic compute_to_load_take,
    output logic compute_to_load_there,
    input  logic compute_to_store_give,
    input  logic compute_to_store_take,
    output logic compute_to_store_there,
    input  logic store_to_compute_give,
    input  logic store_to_compute_take,
    output logic store_to_compute_there
);
  localparam int unsigned LINKS = 4;
  localparam int unsigned BITS = 32;
  logic [LINKS-1:0] give, take, there;
  assign give = {store_to_compute_give, compute_to_store_give, compute_to_load_give, load_to_compute_give};
  assign take = {store_to_compute_take, compute_to_store_take, compute_to_load_take, load_to_compute_take};
  assign {store_to_compute_there, compute_to_store_there, compute_to_load_there, load_to_compute_there} = there;
  for (genvar i = 0; i < LINKS; i++) begin : g_link
    logic [BITS-1:0] count;
    assign there[i] = count != '0;
    always_ff @(posedge clock) begin
      if (reset) count <= '0;
      else count <= count + BITS'(give[i]) - BITS'(take[i]);
    end
  end
endmodule
