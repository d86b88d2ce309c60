// module: kiln_axi_lite_registers
// properties: one strobe and one response per access, order, stable responses, contents
// sources: bus/kiln_axi_lite_registers.sv bus/kiln_handshake_checker.sv
// depth: 12
// induction: 3
module proof (
    input logic        clock,
    input logic        reset,
    input logic        axi_awvalid,
    input logic [ 4:0] axi_awaddr,
    input logic        axi_wvalid,
    input logic [31:0] axi_wdata,
    input logic [ 3:0] axi_wstrb,
    input logic        axi_bready,
    input logic        axi_arvalid,
    input logic [ 4:0] axi_araddr,
    input logic        axi_rready,
    input logic        write_error,
    input logic        read_ready,
    input logic [31:0] read_data,
    input logic        read_error
);
  logic axi_awready, axi_wready, axi_bvalid, axi_arready, axi_rvalid, write_enable, read_enable;
  logic [1:0] axi_bresp, axi_rresp;
  logic [31:0] axi_rdata, write_data;
  logic [4:0] write_address, read_address;
  logic [3:0] write_strobe;
  kiln_axi_lite_registers #(.ADDRESS_BITS(5)) dut (.*);

  // What is in flight, as the bus shows it.
  logic [1:0] addresses, data, reads;  // accepted and without their strobe
  logic [1:0] written, answered_reads;  // strobes without an accepted response
  logic [4:0] last_write_address, last_read_address;
  logic [35:0] last_write_data;
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (reset) begin
      {addresses, data, reads, written, answered_reads} <= '0;
    end else begin
      addresses <= addresses + 2'(axi_awvalid && axi_awready) - 2'(write_enable);
      data      <= data + 2'(axi_wvalid && axi_wready) - 2'(write_enable);
      reads     <= reads + 2'(axi_arvalid && axi_arready) - 2'(read_enable);
      written   <= written + 2'(write_enable) - 2'(axi_bvalid && axi_bready);
      answered_reads <= answered_reads + 2'(read_enable) - 2'(axi_rvalid && axi_rready);
    end
    if (axi_awvalid && axi_awready) last_write_address <= {axi_awaddr[4:2], 2'b00};
    if (axi_wvalid && axi_wready) last_write_data <= {axi_wstrb, axi_wdata};
    if (axi_arvalid && axi_arready) last_read_address <= {axi_araddr[4:2], 2'b00};
    if (!reset) begin
      ready_without_address : assert (axi_awready == (addresses == '0) && addresses <= 2'd1);
      ready_without_data : assert (axi_wready == (data == '0) && data <= 2'd1);
      ready_without_read : assert (axi_arready == (reads == '0) && reads <= 2'd1);
      response_for_each_write : assert (axi_bvalid == (written != '0) && written <= 2'd1);
      data_for_each_read : assert (axi_rvalid == (answered_reads != '0) && answered_reads <= 2'd1);
      strobe_needs_both : assert (!write_enable || (addresses != '0 && data != '0));
      strobe_needs_read : assert (!read_enable || (reads != '0 && read_ready));
      right_address : assert (addresses == '0 || write_address == last_write_address);
      right_data : assert (data == '0 || {write_strobe, write_data} == last_write_data);
      right_read_address : assert (reads == '0 || read_address == last_read_address);
      if (begun && $past(!reset && write_enable)) begin
        right_response : assert (axi_bresp == ($past(write_error) ? 2'b10 : 2'b00));
      end
      if (begun && $past(!reset && read_enable)) begin
        right_read_data : assert (axi_rdata == $past(read_data) &&
            axi_rresp == ($past(read_error) ? 2'b10 : 2'b00));
      end
      // Nothing waits for nothing: an access whose response can be accepted proceeds.
      write_proceeds : assert (write_enable || addresses == '0 || data == '0 ||
          (axi_bvalid && !axi_bready));
      read_proceeds : assert (read_enable || reads == '0 || (axi_rvalid && !axi_rready) ||
          !read_ready);
    end
  end
endmodule
