// module: kiln_axi_arbiter
// properties: every address taken is on the bus once with its master's ID, write data in the
// properties: order of their addresses with as many LASTs, stable addresses and data, no overflow
// sources: bus/kiln_axi_arbiter.sv bus/kiln_round_robin.sv memory/kiln_fifo.sv
// sources: bus/kiln_handshake_checker.sv
// probes: reads=dut.read_queue.count read_list=dut.read_queue.contents
// probes: writes=dut.write_queue.count write_list=dut.write_queue.contents
// probes: turns=dut.order.count turn_list=dut.order.contents
// probes: stored=dut.data_queue.count data_list=dut.data_queue.contents
// depth: 5
// induction: 2
module proof (
    input logic        clock,
    input logic        reset,
    input logic [ 1:0] port_arvalid,
    input logic [ 7:0] port_araddr,
    input logic [15:0] port_arlen,
    input logic [ 1:0] port_rready,
    input logic [ 1:0] port_awvalid,
    input logic [ 7:0] port_awaddr,
    input logic [15:0] port_awlen,
    input logic [ 1:0] port_wvalid,
    input logic [15:0] port_wdata,
    input logic [ 1:0] port_wstrb,
    input logic [ 1:0] port_wlast,
    input logic [ 1:0] port_bready,
    input logic        axi_arready,
    input logic        axi_rvalid,
    input logic        axi_rid,
    input logic [ 7:0] axi_rdata,
    input logic [ 1:0] axi_rresp,
    input logic        axi_rlast,
    input logic        axi_awready,
    input logic        axi_wready,
    input logic        axi_bvalid,
    input logic        axi_bid,
    input logic [ 1:0] axi_bresp
);
  logic [1:0] port_arready, port_rvalid, port_awready, port_wready, port_bvalid;
  logic [7:0] port_rdata, axi_wdata;
  logic [1:0] port_rresp, port_bresp, axi_arburst, axi_awburst;
  logic axi_arid, axi_awid, axi_wstrb;
  logic port_rlast, axi_arvalid, axi_rready, axi_awvalid, axi_wvalid, axi_wlast, axi_bready;
  logic [3:0] axi_araddr, axi_awaddr;
  logic [7:0] axi_arlen, axi_awlen;
  logic [2:0] axi_arsize, axi_awsize;
  kiln_axi_arbiter #(
      .MASTERS(2),
      .ADDRESS_BITS(4),
      .DATA_BYTES(1),
      .WRITE_BURSTS(3)
  ) dut (.*);

  // The arbiter's queues: {ID, address, length - 1}; masters whose write data are next; {LAST,
  // strobe, data}.
  logic [1:0] reads, writes, turns, stored;
  logic [2*13-1:0] read_list, write_list;
  logic [2:0] turn_list;
  logic [2*10-1:0] data_list;

  // One master, any, is watched: its addresses that are not on the bus, and bursts whose addresses
  // it has given and whose last beats it has not.
  (* anyconst *) logic who;
  logic [2:0] read_owed, write_owed, data_owed, ends_owed;
  logic reads_of_who0, reads_of_who1, writes_of_who0, writes_of_who1;
  assign reads_of_who0 = reads > 2'd0 && read_list[12] == who;
  assign reads_of_who1 = reads > 2'd1 && read_list[25] == who;
  assign writes_of_who0 = writes > 2'd0 && write_list[12] == who;
  assign writes_of_who1 = writes > 2'd1 && write_list[25] == who;
  logic read_given, write_given, last_given, last_sent;
  assign read_given = port_arvalid[who] && port_arready[who];
  assign write_given = port_awvalid[who] && port_awready[who];
  assign last_given = (port_wvalid & port_wready & port_wlast) != '0;
  assign last_sent = axi_wvalid && axi_wready && axi_wlast;

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (reset) begin
      {read_owed, write_owed, data_owed, ends_owed} <= '0;
    end else begin
      read_owed <= read_owed + 3'(read_given) - 3'(axi_arvalid && axi_arready && axi_arid == who);
      write_owed <= write_owed + 3'(write_given) -
          3'(axi_awvalid && axi_awready && axi_awid == who);
      data_owed <= data_owed + 3'(write_given) -
          3'(port_wvalid[who] && port_wready[who] && port_wlast[who]);
      ends_owed <= ends_owed + 3'(last_given) - 3'(last_sent);
    end
    if (!reset) begin
      // Every address taken from a master is on the bus once, with its ID.
      read_addresses : assert (read_owed == 3'(reads_of_who0) + 3'(reads_of_who1));
      write_addresses : assert (write_owed == 3'(writes_of_who0) + 3'(writes_of_who1));
      no_read_without_request : assert (!axi_arvalid || axi_arid != who || read_owed != '0);
      no_write_without_request : assert (!axi_awvalid || axi_awid != who || write_owed != '0);
      // A master's data pass only for bursts whose addresses it has given.
      bursts_without_data : assert (data_owed == 3'(turns > 2'd0 && turn_list[0] == who) +
          3'(turns > 2'd1 && turn_list[1] == who) + 3'(turns > 2'd2 && turn_list[2] == who));
      no_data_without_address : assert (!port_wready[who] || data_owed != '0);
      // LASTs of the masters are on the bus.
      ends_pass : assert (ends_owed == 3'(stored > 2'd0 && data_list[9]) +
          3'(stored > 2'd1 && data_list[19]));
      if (begun && $past(!reset && axi_arvalid && !axi_arready)) begin
        address_stays : assert (axi_arvalid && $stable({axi_arid, axi_araddr, axi_arlen}));
      end
      // Data of the master whose turn it is arrive on the bus as they are.
      if (begun && $past(!reset && stored == '0 && port_wvalid[who] && port_wready[who])) begin
        data_of_master : assert (axi_wvalid && axi_wdata == $past(port_wdata[8*who+:8]) &&
            axi_wlast == $past(port_wlast[who]));
      end
    end
  end
endmodule
