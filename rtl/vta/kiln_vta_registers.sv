// The registers of the VTA machine behind an AXI4-Lite slave. kiln_vta_pkg lists their addresses;
// docs/vta-machine.md describes each register.
//   launch       pulse in the cycle in which CONTROL is written with its lowest bit set
//   writes       must write a whole register, and not while `busy`. Other writes, writes to
//                read-only registers, and reads of addresses without a register are answered by
//                SLVERR and change nothing.
//   ended        pulse: sets the bit "finished" of CONTROL; `irq` is that bit
//   read_value   the value of counter number read_counter, in the same cycle
module kiln_vta_registers #(
    parameter int unsigned COUNTERS = 30,
    localparam int unsigned REGISTER_BITS = kiln_vta_pkg::REGISTER_BITS,
    localparam int unsigned ADDRESS_BITS = kiln_vta_pkg::ADDRESS_BITS,
    localparam int unsigned NUMBER_BITS = kiln_vta_pkg::NUMBER_BITS
) (
    input  logic                     clock,
    input  logic                     reset,
    // AXI4-Lite slave
    input  logic                     axi_awvalid,
    output logic                     axi_awready,
    input  logic [REGISTER_BITS-1:0] axi_awaddr,
    input  logic                     axi_wvalid,
    output logic                     axi_wready,
    input  logic [             31:0] axi_wdata,
    input  logic [              3:0] axi_wstrb,
    output logic                     axi_bvalid,
    input  logic                     axi_bready,
    output logic [              1:0] axi_bresp,
    input  logic                     axi_arvalid,
    output logic                     axi_arready,
    input  logic [REGISTER_BITS-1:0] axi_araddr,
    output logic                     axi_rvalid,
    input  logic                     axi_rready,
    output logic [             31:0] axi_rdata,
    output logic [              1:0] axi_rresp,
    output logic                     irq,
    // The machine
    output logic                     launch,
    output logic [  NUMBER_BITS-1:0] instructions,
    output logic [ ADDRESS_BITS-1:0] program_address,
    output logic [ ADDRESS_BITS-1:0] uop_base,
    output logic [ ADDRESS_BITS-1:0] input_base,
    output logic [ ADDRESS_BITS-1:0] weight_base,
    output logic [ ADDRESS_BITS-1:0] accumulator_base,
    output logic [ ADDRESS_BITS-1:0] output_base,
    output logic                     cycles_write,
    output logic [             31:0] cycles_data,
    input  logic                     busy,
    input  logic                     ended,
    input  logic [             31:0] cycles,
    input  logic [             31:0] accumulator_writes,
    input  logic [              3:0] fault,
    input  logic [  NUMBER_BITS-1:0] fault_number,
    output logic [              9:0] read_counter,
    input  logic [             31:0] read_value
);
  logic write_enable, write_error, read_enable, read_error;
  logic [REGISTER_BITS-1:0] write_address, read_address;
  logic [31:0] write_data, read_data;
  logic [3:0] write_strobe;
  kiln_axi_lite_registers #(
      .ADDRESS_BITS(REGISTER_BITS)
  ) slave (
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
      .write_enable,
      .write_address,
      .write_data,
      .write_strobe,
      .write_error,
      .read_enable,
      .read_ready(1'b1),
      .read_address,
      .read_data,
      .read_error
  );

  // ---- Writes.
  logic written, finished;
  assign written = write_enable && !write_error;
  assign write_error = busy || write_strobe != '1 || write_address > kiln_vta_pkg::OUTPUT_BASE;
  assign launch =
      written && write_address == kiln_vta_pkg::CONTROL && write_data[kiln_vta_pkg::CONTROL_LAUNCH];
  assign cycles_write = written && write_address == kiln_vta_pkg::CYCLES;
  assign cycles_data = write_data;
  always_ff @(posedge clock) begin
    if (reset) begin
      instructions     <= '0;
      program_address  <= '0;
      uop_base         <= '0;
      input_base       <= '0;
      weight_base      <= '0;
      accumulator_base <= '0;
      output_base      <= '0;
    end else if (written) begin
      case (write_address)
        kiln_vta_pkg::INSTRUCTIONS: instructions <= write_data;
        kiln_vta_pkg::PROGRAM_ADDRESS: program_address <= write_data;
        kiln_vta_pkg::UOP_BASE: uop_base <= write_data;
        kiln_vta_pkg::INPUT_BASE: input_base <= write_data;
        kiln_vta_pkg::WEIGHT_BASE: weight_base <= write_data;
        kiln_vta_pkg::ACCUMULATOR_BASE: accumulator_base <= write_data;
        kiln_vta_pkg::OUTPUT_BASE: output_base <= write_data;
        default: ;
      endcase
    end
    if (reset) finished <= 1'b0;
    else if (ended) finished <= 1'b1;
    else if (written && write_address == kiln_vta_pkg::CONTROL) begin
      finished <= write_data[kiln_vta_pkg::CONTROL_FINISHED] && !launch;
    end
  end
  assign irq = finished;

  // ---- Reads.
  logic counter_place;
  assign read_counter = read_address[11:2] - kiln_vta_pkg::COUNTERS[11:2];
  assign counter_place = read_address >= kiln_vta_pkg::COUNTERS && read_counter < 10'(COUNTERS);
  always_comb begin
    read_error = 1'b0;
    read_data  = '0;
    if (counter_place) begin
      read_data = read_value;
    end else begin
      case (read_address)
        kiln_vta_pkg::CONTROL: begin
          read_data[kiln_vta_pkg::CONTROL_LAUNCH]   = busy;
          read_data[kiln_vta_pkg::CONTROL_FINISHED] = finished;
        end
        kiln_vta_pkg::CYCLES: read_data = cycles;
        kiln_vta_pkg::INSTRUCTIONS: read_data = instructions;
        kiln_vta_pkg::PROGRAM_ADDRESS: read_data = program_address;
        kiln_vta_pkg::UOP_BASE: read_data = uop_base;
        kiln_vta_pkg::INPUT_BASE: read_data = input_base;
        kiln_vta_pkg::WEIGHT_BASE: read_data = weight_base;
        kiln_vta_pkg::ACCUMULATOR_BASE: read_data = accumulator_base;
        kiln_vta_pkg::OUTPUT_BASE: read_data = output_base;
        kiln_vta_pkg::ACCUMULATOR_WRITES: read_data = accumulator_writes;
        kiln_vta_pkg::FAULT: read_data = 32'(fault);
        kiln_vta_pkg::FAULT_INSTRUCTION: read_data = fault_number;
        kiln_vta_pkg::IDENTITY: read_data = kiln_vta_pkg::IDENTITY_VALUE;
        default: read_error = 1'b1;
      endcase
    end
  end

  logic unused_read;  // reads change nothing
  assign unused_read = read_enable;

`ifndef SYNTHESIS
  logic was_busy;
  logic [6*ADDRESS_BITS+NUMBER_BITS-1:0] settings, last_settings;
  assign settings = {
    instructions, program_address, uop_base, input_base, weight_base, accumulator_base, output_base
  };
  always_ff @(posedge clock) begin
    was_busy <= busy && !reset;
    last_settings <= settings;
    if (!reset) begin
      no_launch_while_busy : assert (!launch || !busy);
      settings_stay_while_busy : assert (!(busy && was_busy) || settings == last_settings);
      no_launch_at_the_end : assert (!ended || !launch);
    end
  end
`endif
endmodule
