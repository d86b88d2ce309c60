// The row of tiles and the links between them.
//   clear, fetch, advance, last_slot, base_*   for all tiles, which obey one clock cycle later
//   result_*   of every tile
//   write_*    a message of the asynchronous fabric, and the tile that it is for
module kiln_cgra_fabric #(
    parameter int unsigned TILES = 4,
    parameter int unsigned LANES = 2,
    parameter int unsigned REACH = 2,
    parameter int unsigned MEMORY_DEPTH = 32,
    parameter int unsigned INSTRUCTION_DEPTH = 16,
    parameter int unsigned SPOKE_DEPTH = 16,
    parameter int unsigned RING = 16,
    parameter int unsigned WAIT_LIMIT = 7,
    parameter bit FLOATS = 1'b0,
    localparam int unsigned WIDTH = 32 * LANES,  // derived, do not set
    localparam int unsigned THREAD_BITS = $clog2(RING)  // derived, do not set
) (
    input  logic                                   clock,
    input  logic                                   clear,
    input  logic                                   fetch,
    input  logic                                   advance,
    input  logic [                            5:0] last_slot,
    input  logic                                   base_valid,
    input  logic [                THREAD_BITS-1:0] base_thread,
    output logic [                      TILES-1:0] result_valid,
    output logic [                    3*TILES-1:0] result_output,
    output logic [                TILES*WIDTH-1:0] result_data,
    input  logic                                   write_valid,
    input  logic [                            3:0] write_target,
    input  logic [                            7:0] write_tile,
    input  logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] write_address,
    input  logic [                      WIDTH-1:0] write_data,
    input  logic [                           63:0] write_low
);
  localparam int unsigned LINKS = 2 * REACH;

  logic [TILES*LINKS-1:0] out_valid;
  logic [TILES*REACH*THREAD_BITS-1:0] out_thread;
  logic [TILES*REACH*WIDTH-1:0] out_next;
  for (genvar t = 0; t < TILES; t++) begin : g_tile
    // How many tiles there are to the left and to the right within reach, and the lines from them.
    localparam int unsigned LEFT = t < REACH ? t : REACH;
    localparam int unsigned RIGHT = TILES - 1 - t < REACH ? TILES - 1 - t : REACH;
    localparam logic [LINKS-1:0] PRESENT = LINKS'((((1 << RIGHT) - 1) << REACH) |
                                                  (((1 << LEFT) - 1) << (REACH - LEFT)));
    logic [LINKS-1:0] in_valid;
    logic [LINKS*THREAD_BITS-1:0] in_thread;
    logic [LINKS*WIDTH-1:0] in_next;
    // The message from the tile at -h comes over its link of offset h, and the other way round.
    for (genvar h = 1; h <= REACH; h++) begin : g_distance
      if (t >= h) begin : g_left
        assign in_valid[REACH-h] = out_valid[(t-h)*LINKS+REACH+h-1];
        assign in_thread[(REACH-h)*THREAD_BITS+:THREAD_BITS] =
            out_thread[((t-h)*REACH+h-1)*THREAD_BITS+:THREAD_BITS];
        assign in_next[(REACH-h)*WIDTH+:WIDTH] = out_next[((t-h)*REACH+h-1)*WIDTH+:WIDTH];
      end else begin : g_no_left
        assign in_valid[REACH-h] = 1'b0;
        assign in_thread[(REACH-h)*THREAD_BITS+:THREAD_BITS] = '0;
        assign in_next[(REACH-h)*WIDTH+:WIDTH] = '0;
      end
      if (t + h < TILES) begin : g_right
        assign in_valid[REACH+h-1] = out_valid[(t+h)*LINKS+REACH-h];
        assign in_thread[(REACH+h-1)*THREAD_BITS+:THREAD_BITS] =
            out_thread[((t+h)*REACH+h-1)*THREAD_BITS+:THREAD_BITS];
        assign in_next[(REACH+h-1)*WIDTH+:WIDTH] = out_next[((t+h)*REACH+h-1)*WIDTH+:WIDTH];
      end else begin : g_no_right
        assign in_valid[REACH+h-1] = 1'b0;
        assign in_thread[(REACH+h-1)*THREAD_BITS+:THREAD_BITS] = '0;
        assign in_next[(REACH+h-1)*WIDTH+:WIDTH] = '0;
      end
    end

    kiln_cgra_tile #(
        .LANES(LANES),
        .REACH(REACH),
        .MEMORY_DEPTH(MEMORY_DEPTH),
        .INSTRUCTION_DEPTH(INSTRUCTION_DEPTH),
        .SPOKE_DEPTH(SPOKE_DEPTH),
        .RING(RING),
        .WAIT_LIMIT(WAIT_LIMIT),
        .FLOATS(FLOATS),
        .PRESENT(PRESENT)
    ) tile (
        .clock,
        .next_clear(clear),
        .next_fetch(fetch),
        .next_advance(advance),
        .next_last_slot(last_slot),
        .next_base_valid(base_valid),
        .next_base_thread(base_thread),
        .in_valid,
        .in_thread,
        .in_next,
        .out_valid(out_valid[t*LINKS+:LINKS]),
        .out_thread(out_thread[t*REACH*THREAD_BITS+:REACH*THREAD_BITS]),
        .out_next(out_next[t*REACH*WIDTH+:REACH*WIDTH]),
        .result_valid(result_valid[t]),
        .result_output(result_output[3*t+:3]),
        .result_data(result_data[t*WIDTH+:WIDTH]),
        .write_valid(write_valid && write_tile == 8'(t)),
        .write_target,
        .write_address,
        .write_data,
        .write_low
    );
  end
  wire unused = &{1'b0, out_valid, out_thread, out_next};

`ifndef SYNTHESIS
  logic cleared = 1'b0;
  logic [1:0] clears = '0;  // of the last two cycles
  always_ff @(posedge clock) begin
    cleared <= cleared || clear;
    clears  <= {clears[0], clear};
    if (cleared) begin
      advances_with_fetch : assert (clear || !advance || fetch);
      // Tiles obey one cycle later, and their registers are quiet in the cycle after.
      if (clears == '1) quiet_after_clear : assert (out_valid == '0 && result_valid == '0);
    end
  end
`endif
endmodule
