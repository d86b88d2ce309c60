// Connects several AXI4 masters to one bus. Master i has the ID i on the bus; data and responses
// return by their IDs.
//
//   masters    ports with one ID each (kiln_axi_read_port, kiln_axi_write_port). Master i uses bit
//              i of the one-bit vectors and slice i of the others; read data and response codes are
//              shared wires. A master that only reads ties its write valids to 0, and vice versa.
//   time       an address or a beat of write data is on the bus one cycle after its master offers
//              it, if it is granted: the memory's latency grows by 1. Read data and responses pass
//              in the same cycle.
//   grants     round robin, address by address. Write data follow in the order of the addresses, as
//              AXI4 requires; a master with late data delays those after it. The data of a master
//              that offers the next address with its first beat pause for a cycle between bursts.
//   stalls     a master that does not accept its read data stalls the others, so a master that
//              waits for another one must not share its bus
//   readys     port_arready and port_awready depend on the valids of all masters in the same cycle;
//              port_wready is a function of registers; axi_rready and axi_bready depend on the IDs
//              and the masters' readys in the same cycle
module kiln_axi_arbiter #(
    parameter int unsigned MASTERS = 3,
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // bytes of a beat, of all masters and of the bus
    parameter int unsigned WRITE_BURSTS = 8,  // bursts whose addresses can be ahead of their data
    localparam int unsigned DATA_BITS = DATA_BYTES * 8,  // derived, do not set
    localparam int unsigned ID_BITS = MASTERS > 1 ? $clog2(MASTERS) : 1  // derived, do not set
) (
    input  logic                            clock,
    input  logic                            reset,
    // The masters' side
    input  logic [             MASTERS-1:0] port_arvalid,
    output logic [             MASTERS-1:0] port_arready,
    input  logic [MASTERS*ADDRESS_BITS-1:0] port_araddr,
    input  logic [           MASTERS*8-1:0] port_arlen,
    output logic [             MASTERS-1:0] port_rvalid,
    input  logic [             MASTERS-1:0] port_rready,
    output logic [           DATA_BITS-1:0] port_rdata,
    output logic [                     1:0] port_rresp,
    output logic                            port_rlast,
    input  logic [             MASTERS-1:0] port_awvalid,
    output logic [             MASTERS-1:0] port_awready,
    input  logic [MASTERS*ADDRESS_BITS-1:0] port_awaddr,
    input  logic [           MASTERS*8-1:0] port_awlen,
    input  logic [             MASTERS-1:0] port_wvalid,
    output logic [             MASTERS-1:0] port_wready,
    input  logic [   MASTERS*DATA_BITS-1:0] port_wdata,
    input  logic [  MASTERS*DATA_BYTES-1:0] port_wstrb,
    input  logic [             MASTERS-1:0] port_wlast,
    output logic [             MASTERS-1:0] port_bvalid,
    input  logic [             MASTERS-1:0] port_bready,
    output logic [                     1:0] port_bresp,
    // The bus
    output logic                            axi_arvalid,
    input  logic                            axi_arready,
    output logic [             ID_BITS-1:0] axi_arid,
    output logic [        ADDRESS_BITS-1:0] axi_araddr,
    output logic [                     7:0] axi_arlen,
    output logic [                     2:0] axi_arsize,
    output logic [                     1:0] axi_arburst,
    input  logic                            axi_rvalid,
    output logic                            axi_rready,
    input  logic [             ID_BITS-1:0] axi_rid,
    input  logic [           DATA_BITS-1:0] axi_rdata,
    input  logic [                     1:0] axi_rresp,
    input  logic                            axi_rlast,
    output logic                            axi_awvalid,
    input  logic                            axi_awready,
    output logic [             ID_BITS-1:0] axi_awid,
    output logic [        ADDRESS_BITS-1:0] axi_awaddr,
    output logic [                     7:0] axi_awlen,
    output logic [                     2:0] axi_awsize,
    output logic [                     1:0] axi_awburst,
    output logic                            axi_wvalid,
    input  logic                            axi_wready,
    output logic [           DATA_BITS-1:0] axi_wdata,
    output logic [          DATA_BYTES-1:0] axi_wstrb,
    output logic                            axi_wlast,
    input  logic                            axi_bvalid,
    output logic                            axi_bready,
    input  logic [             ID_BITS-1:0] axi_bid,
    input  logic [                     1:0] axi_bresp
);
  localparam int unsigned QUEUED_BITS = ID_BITS + ADDRESS_BITS + 8;

  // ---- Read addresses.
  logic read_taken, read_ready;
  logic [MASTERS-1:0] read_grant;
  logic [ID_BITS-1:0] read_index;
  logic [ADDRESS_BITS-1:0] read_address;
  logic [7:0] read_length;
  logic [1:0] unused_read_count;
  kiln_round_robin #(
      .REQUESTERS(MASTERS)
  ) read_turn (
      .clock,
      .reset,
      .request(port_arvalid),
      .taken  (read_taken),
      .grant  (read_grant),
      .index  (read_index)
  );
  assign read_taken   = port_arvalid != '0 && read_ready;
  assign port_arready = read_ready ? read_grant : '0;
  assign read_address = port_araddr[read_index*ADDRESS_BITS+:ADDRESS_BITS];
  assign read_length  = port_arlen[read_index*8+:8];
  kiln_fifo #(
      .WIDTH(QUEUED_BITS),
      .DEPTH(2)
  ) read_queue (
      .clock,
      .reset,
      .in_valid (read_taken),
      .in_ready (read_ready),
      .in_data  ({read_index, read_address, read_length}),
      .out_valid(axi_arvalid),
      .out_ready(axi_arready),
      .out_data ({axi_arid, axi_araddr, axi_arlen}),
      .count    (unused_read_count)
  );
  assign axi_arsize  = 3'($clog2(DATA_BYTES));
  assign axi_arburst = kiln_axi_pkg::BURST_INCR;

  // ---- Read data.
  for (genvar i = 0; i < MASTERS; i = i + 1) begin : g_master
    assign port_rvalid[i] = axi_rvalid && axi_rid == ID_BITS'(i);
    assign port_bvalid[i] = axi_bvalid && axi_bid == ID_BITS'(i);
  end
  assign axi_rready = (port_rvalid & port_rready) != '0;
  assign axi_bready = (port_bvalid & port_bready) != '0;
  assign port_rdata = axi_rdata;
  assign port_rresp = axi_rresp;
  assign port_rlast = axi_rlast;
  assign port_bresp = axi_bresp;

  // ---- Write addresses, and the queue that orders the masters' write data.
  logic write_taken, write_ready, write_queue_ready, order_ready;
  logic [MASTERS-1:0] write_grant;
  logic [ID_BITS-1:0] write_index;
  logic [ADDRESS_BITS-1:0] write_address;
  logic [7:0] write_length;
  logic [1:0] unused_write_count;
  kiln_round_robin #(
      .REQUESTERS(MASTERS)
  ) write_turn (
      .clock,
      .reset,
      .request(port_awvalid),
      .taken  (write_taken),
      .grant  (write_grant),
      .index  (write_index)
  );
  assign write_ready   = write_queue_ready && order_ready;
  assign write_taken   = port_awvalid != '0 && write_ready;
  assign port_awready  = write_ready ? write_grant : '0;
  assign write_address = port_awaddr[write_index*ADDRESS_BITS+:ADDRESS_BITS];
  assign write_length  = port_awlen[write_index*8+:8];
  kiln_fifo #(
      .WIDTH(QUEUED_BITS),
      .DEPTH(2)
  ) write_queue (
      .clock,
      .reset,
      .in_valid (write_taken),
      .in_ready (write_queue_ready),
      .in_data  ({write_index, write_address, write_length}),
      .out_valid(axi_awvalid),
      .out_ready(axi_awready),
      .out_data ({axi_awid, axi_awaddr, axi_awlen}),
      .count    (unused_write_count)
  );
  assign axi_awsize  = 3'($clog2(DATA_BYTES));
  assign axi_awburst = kiln_axi_pkg::BURST_INCR;

  logic data_turn_valid, data_ready, data_taken, data_last;
  logic [ID_BITS-1:0] data_index;
  logic [$clog2(WRITE_BURSTS+1)-1:0] unused_order_count;
  kiln_fifo #(
      .WIDTH(ID_BITS),
      .DEPTH(WRITE_BURSTS)
  ) order (
      .clock,
      .reset,
      .in_valid (write_taken),
      .in_ready (order_ready),
      .in_data  (write_index),
      .out_valid(data_turn_valid),
      .out_ready(data_taken && data_last),
      .out_data (data_index),
      .count    (unused_order_count)
  );

  // ---- Write data.
  logic [DATA_BITS-1:0] data;
  logic [DATA_BYTES-1:0] strobes;
  logic [1:0] unused_data_count;
  assign data_taken = data_turn_valid && data_ready && port_wvalid[data_index];
  assign data_last = port_wlast[data_index];
  assign data = port_wdata[data_index*DATA_BITS+:DATA_BITS];
  assign strobes = port_wstrb[data_index*DATA_BYTES+:DATA_BYTES];
  always_comb begin
    port_wready = '0;
    port_wready[data_index] = data_turn_valid && data_ready;
  end
  kiln_fifo #(
      .WIDTH(DATA_BITS + DATA_BYTES + 1),
      .DEPTH(2)
  ) data_queue (
      .clock,
      .reset,
      .in_valid (data_taken),
      .in_ready (data_ready),
      .in_data  ({data_last, strobes, data}),
      .out_valid(axi_wvalid),
      .out_ready(axi_wready),
      .out_data ({axi_wlast, axi_wstrb, axi_wdata}),
      .count    (unused_data_count)
  );

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(QUEUED_BITS)
  ) read_address_handshake (
      .clock,
      .reset,
      .valid(axi_arvalid),
      .ready(axi_arready),
      .payload({axi_arid, axi_araddr, axi_arlen})
  );
  kiln_handshake_checker #(
      .WIDTH(QUEUED_BITS)
  ) write_address_handshake (
      .clock,
      .reset,
      .valid(axi_awvalid),
      .ready(axi_awready),
      .payload({axi_awid, axi_awaddr, axi_awlen})
  );
  kiln_handshake_checker #(
      .WIDTH(DATA_BITS + DATA_BYTES + 1)
  ) write_data_handshake (
      .clock,
      .reset,
      .valid(axi_wvalid),
      .ready(axi_wready),
      .payload({axi_wlast, axi_wstrb, axi_wdata})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_read_address_taken : assert ($onehot0(port_arvalid & port_arready));
      one_write_address_taken : assert ($onehot0(port_awvalid & port_awready));
      one_data_turn : assert ($onehot0(port_wready));
      // Data or a response with an ID that belongs to no master would be lost.
      read_data_has_master : assert (!axi_rvalid || $onehot(port_rvalid));
      response_has_master : assert (!axi_bvalid || $onehot(port_bvalid));
      data_turn_in_range : assert (!data_turn_valid || 32'(data_index) < MASTERS);
      data_only_in_turn : assert (!data_taken || data_turn_valid);
      if ($past(reset)) begin
        quiet_after_reset : assert (!axi_arvalid && !axi_awvalid && !axi_wvalid);
      end
    end
  end
`endif

`ifdef KILN_AXI_CHECKER
  logic [kiln_axi_pkg::RULES-1:0] unused_violations;
  kiln_axi_checker #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .ID_BITS(ID_BITS)
  ) checker_of_bus (
      .clock,
      .reset,
      .axi_arvalid,
      .axi_arready,
      .axi_arid,
      .axi_araddr,
      .axi_arlen,
      .axi_arsize,
      .axi_arburst,
      .axi_rvalid,
      .axi_rready,
      .axi_rid,
      .axi_rdata,
      .axi_rresp,
      .axi_rlast,
      .axi_awvalid,
      .axi_awready,
      .axi_awid,
      .axi_awaddr,
      .axi_awlen,
      .axi_awsize,
      .axi_awburst,
      .axi_wvalid,
      .axi_wready,
      .axi_wdata,
      .axi_wstrb,
      .axi_wlast,
      .axi_bvalid,
      .axi_bready,
      .axi_bid,
      .axi_bresp,
      .violations(unused_violations)
  );
`endif
endmodule
