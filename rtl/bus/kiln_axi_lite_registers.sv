// A 32-bit AXI4-Lite slave for a block of registers outside this module: converts bus accesses to
// write and read strobes.
//
//   write      write_enable is high for one cycle with address, data and strobes (one bit per
//              byte); the register changes at the end of that cycle. write_error in that cycle
//              makes the response SLVERR (no such register, or not writable now).
//   read       read_enable is high for one cycle with the address; read_data and read_error
//              (SLVERR) must be valid in that cycle. A read may clear the register. The strobe
//              waits for read_ready, which may depend on the address.
//   time       the strobe is high in the cycle after the address (and data) were accepted, once the
//              previous response has been accepted; the response is on the bus from the next cycle
//              on. One access every other cycle. Readys are functions of registers.
//   order      reads and writes do not wait for each other; data may arrive before their address
// Addresses are byte addresses of whole words: the two lowest bits are ignored.
module kiln_axi_lite_registers #(
    parameter int unsigned ADDRESS_BITS = 12
) (
    input  logic                    clock,
    input  logic                    reset,
    // AXI4-Lite slave
    input  logic                    axi_awvalid,
    output logic                    axi_awready,
    input  logic [ADDRESS_BITS-1:0] axi_awaddr,
    input  logic                    axi_wvalid,
    output logic                    axi_wready,
    input  logic [            31:0] axi_wdata,
    input  logic [             3:0] axi_wstrb,
    output logic                    axi_bvalid,
    input  logic                    axi_bready,
    output logic [             1:0] axi_bresp,
    input  logic                    axi_arvalid,
    output logic                    axi_arready,
    input  logic [ADDRESS_BITS-1:0] axi_araddr,
    output logic                    axi_rvalid,
    input  logic                    axi_rready,
    output logic [            31:0] axi_rdata,
    output logic [             1:0] axi_rresp,
    // Registers
    output logic                    write_enable,
    output logic [ADDRESS_BITS-1:0] write_address,  // bits 1 and 0 are zero
    output logic [            31:0] write_data,
    output logic [             3:0] write_strobe,
    input  logic                    write_error,
    output logic                    read_enable,
    input  logic                    read_ready,
    output logic [ADDRESS_BITS-1:0] read_address,  // bits 1 and 0 are zero
    input  logic [            31:0] read_data,
    input  logic                    read_error
);
  // ---- Writes: address and data wait for each other here.
  logic address_held, data_held;
  assign axi_awready = !address_held;
  assign axi_wready = !data_held;
  assign write_enable = address_held && data_held && (!axi_bvalid || axi_bready);

  always_ff @(posedge clock) begin
    if (reset) begin
      address_held <= 1'b0;
      data_held    <= 1'b0;
      axi_bvalid   <= 1'b0;
    end else begin
      address_held <= address_held ? !write_enable : axi_awvalid;
      data_held    <= data_held ? !write_enable : axi_wvalid;
      if (!axi_bvalid || axi_bready) axi_bvalid <= write_enable;
    end
    if (axi_awvalid && axi_awready) write_address <= {axi_awaddr[ADDRESS_BITS-1:2], 2'b00};
    if (axi_wvalid && axi_wready) begin
      write_data   <= axi_wdata;
      write_strobe <= axi_wstrb;
    end
    if (write_enable)
      axi_bresp <= write_error ? kiln_axi_pkg::RESPONSE_SLVERR : kiln_axi_pkg::RESPONSE_OKAY;
  end

  // ---- Reads.
  logic read_held;
  assign axi_arready = !read_held;
  assign read_enable = read_held && read_ready && (!axi_rvalid || axi_rready);

  always_ff @(posedge clock) begin
    if (reset) begin
      read_held  <= 1'b0;
      axi_rvalid <= 1'b0;
    end else begin
      read_held <= read_held ? !read_enable : axi_arvalid;
      if (!axi_rvalid || axi_rready) axi_rvalid <= read_enable;
    end
    if (axi_arvalid && axi_arready) read_address <= {axi_araddr[ADDRESS_BITS-1:2], 2'b00};
    if (read_enable) begin
      axi_rdata <= read_data;
      axi_rresp <= read_error ? kiln_axi_pkg::RESPONSE_SLVERR : kiln_axi_pkg::RESPONSE_OKAY;
    end
  end

  logic unused_address;
  assign unused_address = &{1'b0, axi_awaddr[1:0], axi_araddr[1:0]};

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(2)
  ) response_handshake (
      .clock,
      .reset,
      .valid(axi_bvalid),
      .ready(axi_bready),
      .payload(axi_bresp)
  );
  kiln_handshake_checker #(
      .WIDTH(34)
  ) data_handshake (
      .clock,
      .reset,
      .valid(axi_rvalid),
      .ready(axi_rready),
      .payload({axi_rdata, axi_rresp})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      write_response_code : assert (!axi_bvalid || axi_bresp == kiln_axi_pkg::RESPONSE_OKAY ||
          axi_bresp == kiln_axi_pkg::RESPONSE_SLVERR);
      read_response_code : assert (!axi_rvalid || axi_rresp == kiln_axi_pkg::RESPONSE_OKAY ||
          axi_rresp == kiln_axi_pkg::RESPONSE_SLVERR);
      write_address_aligned : assert (!write_enable || write_address[1:0] == '0);
      read_address_aligned : assert (!read_enable || read_address[1:0] == '0);
      if (!$past(reset)) begin
        // Each access has one strobe, and each strobe has one response.
        single_write_strobe : assert (!(write_enable && $past(write_enable)));
        single_read_strobe : assert (!(read_enable && $past(read_enable)));
        write_answered : assert (!$past(write_enable) || axi_bvalid);
        read_answered : assert (!$past(read_enable) || axi_rvalid);
        no_unasked_response : assert (!axi_bvalid || $past(axi_bvalid || write_enable));
        no_unasked_data : assert (!axi_rvalid || $past(axi_rvalid || read_enable));
      end
      if ($past(reset)) quiet_after_reset : assert (!axi_bvalid && !axi_rvalid);
    end
  end
`endif

`ifdef KILN_AXI_CHECKER
  logic [kiln_axi_pkg::RULES-1:0] unused_violations;
  kiln_axi_lite_checker #(
      .ADDRESS_BITS(ADDRESS_BITS)
  ) checker_of_slave (
      .clock,
      .reset,
      .axi_awvalid,
      .axi_awready,
      .axi_awaddr,
      .axi_wvalid,
      .axi_wready,
      .axi_wdata,
      .axi_wstrb,
      .axi_bvalid,
      .axi_bready,
      .axi_bresp,
      .axi_arvalid,
      .axi_arready,
      .axi_araddr,
      .axi_rvalid,
      .axi_rready,
      .axi_rdata,
      .axi_rresp,
      .violations(unused_violations)
  );
`endif
endmodule
