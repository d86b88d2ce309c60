// Connects the five ports of kiln_systolic to one memory bus through kiln_axi_arbiter (design
// points with shared_bus). All ports and the bus have the same width.
//   IDs         0 program, 1 inputs, 2 weights, 3 operands, 4 results
//   turns       The machine's read ports already request the bus in turn (kiln_bus_turns,
//               SHARED_BUS of kiln_systolic). A memory that takes an address in every cycle
//               therefore never sees two requests at once; with any other memory, kiln_axi_arbiter
//               makes them wait.
//   time        Addresses, and beats of results, arrive one cycle later than through a port of
//               their own; MEMORY_LATENCY then includes one more cycle for the ports
//               (kiln_axi_pkg::SHARED_PORT_LATENCY).
//   progress    The machine's read ports accept the data that they have requested regardless of
//               other ports, so that no port blocks another forever.
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
  // ---- Reads.
  localparam int unsigned READERS = 4, READER_BITS = 2;
  logic [READERS-1:0] arready, rvalid, unused_awready, unused_wready, unused_bvalid;
  logic [READER_BITS-1:0] arid;
  kiln_axi_arbiter #(
      .MASTERS     (READERS),
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES  (DATA_BYTES)
  ) arbiter (
      .clock,
      .reset,
      .port_arvalid({operand_arvalid, weight_arvalid, input_arvalid, program_arvalid}),
      .port_arready(arready),
      .port_araddr({operand_araddr, weight_araddr, input_araddr, program_araddr}),
      .port_arlen({operand_arlen, weight_arlen, input_arlen, program_arlen}),
      .port_rvalid(rvalid),
      .port_rready({operand_rready, weight_rready, input_rready, program_rready}),
      .port_rdata(program_rdata),
      .port_rresp(program_rresp),
      .port_rlast(program_rlast),
      .port_awvalid('0),
      .port_awready(unused_awready),
      .port_awaddr('0),
      .port_awlen('0),
      .port_wvalid('0),
      .port_wready(unused_wready),
      .port_wdata('0),
      .port_wstrb('0),
      .port_wlast('0),
      .port_bvalid(unused_bvalid),
      .port_bready('0),
      .port_bresp(),
      .axi_arvalid(memory_arvalid),
      .axi_arready(memory_arready),
      .axi_arid(arid),
      .axi_araddr(memory_araddr),
      .axi_arlen(memory_arlen),
      .axi_arsize(memory_arsize),
      .axi_arburst(memory_arburst),
      .axi_rvalid(memory_rvalid),
      .axi_rready(memory_rready),
      .axi_rid(memory_rid[READER_BITS-1:0]),
      .axi_rdata(memory_rdata),
      .axi_rresp(memory_rresp),
      .axi_rlast(memory_rlast),
      .axi_awvalid(),
      .axi_awready(1'b0),
      .axi_awid(),
      .axi_awaddr(),
      .axi_awlen(),
      .axi_awsize(),
      .axi_awburst(),
      .axi_wvalid(),
      .axi_wready(1'b0),
      .axi_wdata(),
      .axi_wstrb(),
      .axi_wlast(),
      .axi_bvalid(1'b0),
      .axi_bready(),
      .axi_bid('0),
      .axi_bresp('0)
  );
  assign memory_arid = ID_BITS'(arid);
  assign {operand_arready, weight_arready, input_arready, program_arready} = arready;
  assign {operand_rvalid, weight_rvalid, input_rvalid, program_rvalid} = rvalid;
  assign input_rdata = program_rdata;
  assign input_rresp = program_rresp;
  assign input_rlast = program_rlast;
  assign weight_rdata = program_rdata;
  assign weight_rresp = program_rresp;
  assign weight_rlast = program_rlast;
  assign operand_rdata = program_rdata;
  assign operand_rresp = program_rresp;
  assign operand_rlast = program_rlast;

  // ---- Writes: from one master, through a register like the reads' addresses.
  logic [1:0] unused_address_count, unused_data_count;
  kiln_fifo #(
      .WIDTH(ADDRESS_BITS + 8),
      .DEPTH(2)
  ) write_addresses (
      .clock,
      .reset,
      .in_valid (output_awvalid),
      .in_ready (output_awready),
      .in_data  ({output_awaddr, output_awlen}),
      .out_valid(memory_awvalid),
      .out_ready(memory_awready),
      .out_data ({memory_awaddr, memory_awlen}),
      .count    (unused_address_count)
  );
  kiln_fifo #(
      .WIDTH(DATA_BITS + DATA_BYTES + 1),
      .DEPTH(2)
  ) write_data (
      .clock,
      .reset,
      .in_valid (output_wvalid),
      .in_ready (output_wready),
      .in_data  ({output_wlast, output_wstrb, output_wdata}),
      .out_valid(memory_wvalid),
      .out_ready(memory_wready),
      .out_data ({memory_wlast, memory_wstrb, memory_wdata}),
      .count    (unused_data_count)
  );
  assign memory_awid = ID_BITS'(MASTERS - 1);
  assign memory_awsize = 3'($clog2(DATA_BYTES));
  assign memory_awburst = kiln_axi_pkg::BURST_INCR;
  assign output_bvalid = memory_bvalid;
  assign output_bresp = memory_bresp;
  assign memory_bready = output_bready;

  // All bursts have full-width beats at increasing addresses.
  wire unused = &{1'b0, program_arsize, program_arburst, input_arsize, input_arburst, weight_arsize,
      weight_arburst, operand_arsize, operand_arburst, output_awsize, output_awburst, memory_rid,
      memory_bid};

`ifdef KILN_AXI_CHECKER
  logic [kiln_axi_pkg::RULES-1:0] unused_violations;
  kiln_axi_checker #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .ID_BITS(ID_BITS)
  ) checker_of_bus (
      .clock,
      .reset,
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
      .axi_bresp(memory_bresp),
      .violations(unused_violations)
  );
`endif

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_master_reads : assert ($onehot0(rvalid));
      beat_has_master : assert (!memory_rvalid || 32'(memory_rid) < MASTERS - 1);
    end
  end
`endif
endmodule
