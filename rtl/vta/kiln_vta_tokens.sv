// The token queues between neighbouring stages of the VTA machine: four 32-bit counters.
//   give, take   pulses; increment and decrement a counter. A token given in t can be taken in
//                t + 1.
//   there        the counter is not zero, so that a token can be taken in this cycle
// Tokens persist from one launch to the next.
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
  assign give =
      {store_to_compute_give, compute_to_store_give, compute_to_load_give, load_to_compute_give};
  assign take =
      {store_to_compute_take, compute_to_store_take, compute_to_load_take, load_to_compute_take};
  assign {store_to_compute_there, compute_to_store_there, compute_to_load_there,
      load_to_compute_there} = there;
  for (genvar i = 0; i < LINKS; i++) begin : g_link
    logic [BITS-1:0] count;
    assign there[i] = count != '0;
    always_ff @(posedge clock) begin
      if (reset) count <= '0;
      else count <= count + BITS'(give[i]) - BITS'(take[i]);
    end
`ifndef SYNTHESIS
    // Only existing tokens are taken. A launch has too few instructions for an overflow.
    always_ff @(posedge clock) begin
      if (!reset) assert (!take[i] || count != '0);
    end
`endif
  end
endmodule
