// The five buses of a systolic machine on one (design points with shared_bus): kiln_axi_arbiter between kiln_systolic and the
// memory, all widths alike.
//   IDs        0 program, 1 inputs, 2 weights, 3 operands, 4 results
//   time       as kiln_axi_arbiter: an address and a beat of results come a cycle later, and in their turn; so nothing that the machine does has a
//              fixed time any more, though its bits are the same
//   progress   the machine's read ports take what they have asked for whatever the others do, so that none holds up another for good
module kiln_shared_bus #(
    parameter int unsigned DATA_BYTES = 16,  // bytes of a beat, of all ports and of the bus
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,  // derived, do not set
    localparam int unsigned DATA_BITS = DATA_BYTES * 8,
    localparam int unsigned MASTERS = 5,
    localparam int unsigned ID_BITS = $clog2(MASTERS)
) (
    input  logic clock,
    input  logic reset,
    // The machine's side
    input  logic program_arvalid,
    output logic program_arready,
    input  logic [ADDRESS_BITS-1:0] program_araddr,
    input  logic [7:0] program_arlen,
    input  logic [2:0] program_arsize,
    input  logic [1:0] program_arburst,
    output logic program_rvalid,
    input  logic program_rready,
    output logic [DATA_BITS-1:0] program_rdata,
    output logic [1:0] program_rresp,
    output logic program_rlast,
    input  logic input_arvalid,
    output logic input_arready,
    input  logic [ADDRESS_BITS-1:0] input_araddr,
    input  logic [7:0] input_arlen,
    input  logic [2:0] input_arsize,
    input  logic [1:0] input_arburst,
    output logic input_rvalid,
    input  logic input_rready,
    output logic [DATA_BITS-1:0] input_rdata,
    output logic [1:0] input_rresp,
    output logic input_rlast,
    input  logic weight_arvalid,
    output logic weight_arready,
    input  logic [ADDRESS_BITS-1:0] weight_araddr,
    input  logic [7:0] weight_arlen,
    input  logic [2:0] weight_arsize,
    input  logic [1:0] weight_arburst,
    output logic weight_rvalid,
    input  logic weight_rready,
    output logic [DATA_BITS-1:0] weight_rdata,
    output logic [1:0] weight_rresp,
    output logic weight_rlast,
    input  logic operand_arvalid,
    output logic operand_arready,
    input  logic [ADDRESS_BITS-1:0] operand_araddr,
    input  logic [7:0] operand_arlen,
    input  logic [2:0] operand_arsize,
    input  logic [1:0] operand_arburst,
    output logic operand_rvalid,
    input  logic operand_rready,
    output logic [DATA_BITS-1:0] operand_rdata,
    output logic [1:0] operand_rresp,
    output logic operand_rlast,
    input  logic output_awvalid,
    output logic output_awready,
    input  logic [ADDRESS_BITS-1:0] output_awaddr,
    input  logic [7:0] output_awlen,
    input  logic [2:0] output_awsize,
    input  logic [1:0] output_awburst,
    input  logic output_wvalid,
    output logic output_wready,
    input  logic [DATA_BITS-1:0] output_wdata,
    input  logic [DATA_BYTES-1:0] output_wstrb,
    input  logic output_wlast,
    output logic output_bvalid,
    input  logic output_bready,
    output logic [1:0] output_bresp,
    // The bus
    output logic memory_arvalid,
    input  logic memory_arready,
    output logic [ID_BITS-1:0] memory_arid,
    output logic [ADDRESS_BITS-1:0] memory_araddr,
    output logic [7:0] memory_arlen,
    output logic [2:0] memory_arsize,
    output logic [1:0] memory_arburst,
    input  logic memory_rvalid,
    output logic memory_rready,
    input  logic [ID_BITS-1:0] memory_rid,
    input  logic [DATA_BITS-1:0] memory_rdata,
    input  logic [1:0] memory_rresp,
    input  logic memory_rlast,
    output logic memory_awvalid,
    input  logic memory_awready,
    output logic [ID_BITS-1:0] memory_awid,
    output logic [ADDRESS_BITS-1:0] memory_awaddr,
    output logic [7:0] memory_awlen,
    output logic [2:0] memory_awsize,
    output logic [1:0] memory_awburst,
    output logic memory_wvalid,
    input  logic memory_wready,
    output logic [DATA_BITS-1:0] memory_wdata,
    output logic [DATA_BYTES-1:0] memory_wstrb,
    output logic memory_wlast,
    input  logic memory_bvalid,
    output logic memory_bready,
    input  logic [ID_BITS-1:0] memory_bid,
    input  logic [1:0] memory_bresp
);
  localparam logic [ADDRESS_BITS-1:0] NO_ADDRESS = '0;
  logic [MASTERS-1:0] arready, rvalid, awready, wready, bvalid;
  logic [DATA_BITS-1:0] rdata;
  logic [1:0] rresp, bresp;
  logic rlast;
  kiln_axi_arbiter #(
      .MASTERS     (MASTERS),
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES  (DATA_BYTES)
  ) arbiter (
      .clock,
      .reset,
      .port_arvalid({1'b0, operand_arvalid, weight_arvalid, input_arvalid, program_arvalid}),
      .port_arready(arready),
      .port_araddr({NO_ADDRESS, operand_araddr, weight_araddr, input_araddr, program_araddr}),
      .port_arlen({8'd0, operand_arlen, weight_arlen, input_arlen, program_arlen}),
      .port_rvalid(rvalid),
      .port_rready({1'b0, operand_rready, weight_rready, input_rready, program_rready}),
      .port_rdata(rdata),
      .port_rresp(rresp),
      .port_rlast(rlast),
      .port_awvalid({output_awvalid, 4'd0}),
      .port_awready(awready),
      .port_awaddr({output_awaddr, {4{NO_ADDRESS}}}),
      .port_awlen({output_awlen, 32'd0}),
      .port_wvalid({output_wvalid, 4'd0}),
      .port_wready(wready),
      .port_wdata({output_wdata, {(4 * DATA_BITS) {1'b0}}}),
      .port_wstrb({output_wstrb, {(4 * DATA_BYTES) {1'b0}}}),
      .port_wlast({output_wlast, 4'd0}),
      .port_bvalid(bvalid),
      .port_bready({output_bready, 4'd0}),
      .port_bresp(bresp),
      .axi_arvalid(memory_arvalid),
      .axi_arready(memory_arready),
      .axi_arid(memory_arid),
      .axi_araddr(memory_araddr),
      .axi_arlen(memory_arlen),
      .axi_arsize(memory_arsize),
      .axi_arburst(memory_arburst),
      .axi_rvalid(memory_rvalid),
      .axi_rready(memory_rready),
      .axi_rid(memory_rid),
      .axi_rdata(memory_rdata),
      .axi_rresp(memory_rresp),
      .axi_rlast(memory_rlast),
      .axi_awvalid(memory_awvalid),
      .axi_awready(memory_awready),
      .axi_awid(memory_awid),
      .axi_awaddr(memory_awaddr),
      .axi_awlen(memory_awlen),
      .axi_awsize(memory_awsize),
      .axi_awburst(memory_awburst),
      .axi_wvalid(memory_wvalid),
      .axi_wready(memory_wready),
      .axi_wdata(memory_wdata),
      .axi_wstrb(memory_wstrb),
      .axi_wlast(memory_wlast),
      .axi_bvalid(memory_bvalid),
      .axi_bready(memory_bready),
      .axi_bid(memory_bid),
      .axi_bresp(memory_bresp)
  );
  assign program_arready = arready[0];
  assign program_rvalid = rvalid[0];
  assign program_rdata = rdata;
  assign program_rresp = rresp;
  assign program_rlast = rlast;
  assign input_arready = arready[1];
  assign input_rvalid = rvalid[1];
  assign input_rdata = rdata;
  assign input_rresp = rresp;
  assign input_rlast = rlast;
  assign weight_arready = arready[2];
  assign weight_rvalid = rvalid[2];
  assign weight_rdata = rdata;
  assign weight_rresp = rresp;
  assign weight_rlast = rlast;
  assign operand_arready = arready[3];
  assign operand_rvalid = rvalid[3];
  assign operand_rdata = rdata;
  assign operand_rresp = rresp;
  assign operand_rlast = rlast;
  assign output_awready = awready[4];
  assign output_wready = wready[4];
  assign output_bvalid = bvalid[4];
  assign output_bresp = bresp;
  // All bursts are of whole beats, at rising addresses. Nobody reads what is written on a reader's wires.
  wire unused = &{1'b0, program_arsize, program_arburst, input_arsize, input_arburst, weight_arsize, weight_arburst, operand_arsize,
                  operand_arburst, output_awsize, output_awburst, arready[4], rvalid[4], awready[3:0], wready[3:0], bvalid[3:0]};
endmodule
