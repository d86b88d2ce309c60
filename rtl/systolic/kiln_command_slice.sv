// Some bits of the commands in a kiln_command_group, which controls it.
//   out_data   of the oldest command
module kiln_command_slice #(
    parameter int unsigned WIDTH = 8,
    parameter int unsigned DEPTH = 4
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             push,
    input  logic             pop,
    input  logic [WIDTH-1:0] in_data,
    output logic [WIDTH-1:0] out_data
);
  if (DEPTH == 1) begin : g_one
    always_ff @(posedge clock) begin
      if (push) out_data <= in_data;
    end
    wire unused = &{1'b0, reset, pop};
  end else begin : g_several
    localparam int unsigned PLACE_BITS = $clog2(DEPTH);
    localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);
    logic [WIDTH-1:0] words[DEPTH];
    logic [PLACE_BITS-1:0] write_place, read_place;
    assign out_data = words[read_place];
    always_ff @(posedge clock) begin
      if (push) words[write_place] <= in_data;
      if (reset) begin
        write_place <= '0;
        read_place  <= '0;
      end else begin
        if (push) write_place <= write_place == LAST ? '0 : write_place + 1'b1;
        if (pop) read_place <= read_place == LAST ? '0 : read_place + 1'b1;
      end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) begin
        write_place_in_range : assert (32'(write_place) < DEPTH);
        read_place_in_range : assert (32'(read_place) < DEPTH);
      end
    end
`endif
  end
endmodule
