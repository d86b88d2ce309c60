// One lane of the requantisation by thresholds: code = LOW + the number of thresholds t of the
// channel with sum >= t. A channel has 2^LEVELS - 1 thresholds in ascending order, T[1] to
// T[2^LEVELS - 1]; the search finds one bit of their number per level, the highest first.
//   time       sum and place in cycle t give the code in t + 2 * LEVELS; one sum per cycle
//   place      which of the WORDS channels of this lane the sum belongs to
//   contents   level j reads the file FILE_<j>_<lane>.hex (the lane in three decimal digits), a
//              word per threshold: word place * 2^j + p is T[(2 p + 1) * 2^(LEVELS-1-j)], in two's
//              complement of THRESHOLD_BITS bits
module kiln_dataflow_thresholds #(
    parameter int unsigned SUM_BITS = 16,
    parameter int unsigned THRESHOLD_BITS = 16,
    parameter int unsigned OUT_BITS = 4,
    parameter int LOW = 0,
    parameter int unsigned LEVELS = 4,  // 1 to 8
    parameter int unsigned WORDS = 1,
    parameter FILE = "",  // without one all thresholds are zero
    parameter int unsigned LANE = 0,
    parameter int unsigned MEMORY = 0,  // 0 LUTs, 1 block memory
    localparam int unsigned PLACE_BITS = WORDS > 1 ? $clog2(WORDS) : 1  // derived, do not set
) (
    input  logic                  clock,
    input  logic [  SUM_BITS-1:0] sum,
    input  logic [PLACE_BITS-1:0] place,
    output logic [  OUT_BITS-1:0] code
);
  localparam int unsigned COMPARED_BITS = SUM_BITS > THRESHOLD_BITS ? SUM_BITS : THRESHOLD_BITS;
  localparam logic [7:0] HUNDREDS = 8'(48 + LANE / 100 % 10);
  localparam logic [7:0] TENS = 8'(48 + LANE / 10 % 10);
  localparam logic [7:0] ONES = 8'(48 + LANE % 10);

  if (LEVELS < 1 || LEVELS > 8 || LANE > 999) begin : g_parameters
    $error("LEVELS must be 1 to 8, LANE 999 at most");
  end

  for (genvar level = 0; level <= LEVELS; level++) begin : g_level
    logic signed [SUM_BITS-1:0] value;
    logic [PLACE_BITS-1:0] at;
    logic [LEVELS-1:0] count;  // bits that are found, the rest zero
    if (level == 0) begin : g_first
      assign value = sum;
      assign at = place;
      assign count = '0;
    end else begin : g_search
      localparam int unsigned BIT = LEVELS - level;
      localparam int unsigned CHOICES = 1 << (level - 1);
      localparam int unsigned ADDRESS_BITS = WORDS * CHOICES > 1 ? $clog2(WORDS * CHOICES) : 1;
      localparam logic [7:0] LEVEL_DIGIT = 8'(47 + level);
      localparam LEVEL_FILE = {FILE, "_", LEVEL_DIGIT, "_", HUNDREDS, TENS, ONES, ".hex"};
      logic [ADDRESS_BITS-1:0] address;
      logic signed [THRESHOLD_BITS-1:0] threshold;
      logic signed [SUM_BITS-1:0] waiting_value;
      logic [PLACE_BITS-1:0] waiting_at;
      logic [LEVELS-1:0] waiting_count;
      assign address = ADDRESS_BITS'(32'(g_level[level-1].at) * CHOICES +
          (32'(g_level[level-1].count) >> (BIT + 1)));
      if (FILE != "") begin : g_file
        kiln_dataflow_rom #(
            .WIDTH(THRESHOLD_BITS),
            .DEPTH(WORDS * CHOICES),
            .FILE(LEVEL_FILE),
            .MEMORY(MEMORY)
        ) rom (
            .clock,
            .read_enable(1'b1),
            .read_address(address),
            .read_data(threshold)
        );
      end else begin : g_zero
        wire unused_address = &{1'b0, address};
        assign threshold = '0;
      end
      always_ff @(posedge clock) begin
        waiting_value <= g_level[level-1].value;
        waiting_at    <= g_level[level-1].at;
        waiting_count <= g_level[level-1].count;
        value         <= waiting_value;
        at            <= waiting_at;
        count         <= waiting_count;
        count[BIT]    <= COMPARED_BITS'(waiting_value) >= COMPARED_BITS'(threshold);
      end
    end
  end
  assign code = OUT_BITS'(g_level[LEVELS].count) + OUT_BITS'(LOW);
  wire unused_end = &{1'b0, g_level[LEVELS].value, g_level[LEVELS].at};
endmodule
