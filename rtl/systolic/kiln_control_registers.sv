// The machine's registers as an AXI4-Lite slave (addresses in kiln_control_pkg, described in
// docs/rtl.md), its interrupt line, and the status of its last run.
//
//   start       Pulse in the cycle in which CONTROL is written, with program_address; only if
//               `idle`.
//   stop        Likewise, only if not idle.
//   done        Pulse: the program has ended; cycles and counters are those of this run.
//   failed      Pulse: the run has failed, with the reason (error_code) and the number of the
//               instruction and of its word.
//   read_value  The counter selected by read_unit and read_counter, in a cycle with read_valid. The
//               read of a counter waits for it.
module kiln_control_registers #(
    localparam int unsigned REGISTER_BITS = 12,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    // AXI4-Lite slave
    input  logic                                      axi_awvalid,
    output logic                                      axi_awready,
    input  logic [                 REGISTER_BITS-1:0] axi_awaddr,
    input  logic                                      axi_wvalid,
    output logic                                      axi_wready,
    input  logic [                              31:0] axi_wdata,
    input  logic [                               3:0] axi_wstrb,
    output logic                                      axi_bvalid,
    input  logic                                      axi_bready,
    output logic [                               1:0] axi_bresp,
    input  logic                                      axi_arvalid,
    output logic                                      axi_arready,
    input  logic [                 REGISTER_BITS-1:0] axi_araddr,
    output logic                                      axi_rvalid,
    input  logic                                      axi_rready,
    output logic [                              31:0] axi_rdata,
    output logic [                               1:0] axi_rresp,
    output logic                                      irq,
    // The command processor
    output logic                                      start,
    output logic                                      stop,
    output logic [                  ADDRESS_BITS-1:0] program_address,
    output logic [                              31:0] watchdog_limit,
    input  logic                                      idle,
    input  logic                                      done,
    input  logic                                      failed,
    input  kiln_control_pkg::error_t                  failed_code,
    input  logic [                              15:0] failed_instruction,
    input  logic [                              15:0] failed_word,
    input  logic [                              15:0] finished,
    input  logic [kiln_control_pkg::COUNTER_BITS-1:0] cycles,
    output logic [                               2:0] read_unit,
    output logic [                               2:0] read_counter,
    input  logic                                      read_valid,
    input  logic [kiln_control_pkg::COUNTER_BITS-1:0] read_value
);
  localparam logic [31:0] WATCHDOG_DEFAULT = 32'h1000_0000;

  logic write_enable, write_error, read_enable, read_ready, read_error;
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
      .read_ready,
      .read_address,
      .read_data,
      .read_error
  );

  // ---- Writes: whole words only. A write that a register does not accept is answered by an error
  // and changes nothing.
  logic write_start, write_stop, written;
  assign written = write_enable && !write_error;
  assign write_start = write_data[kiln_control_pkg::CONTROL_START];
  assign write_stop = write_data[kiln_control_pkg::CONTROL_STOP];
  always_comb begin
    write_error = write_strobe != '1;
    case (write_address)
      kiln_control_pkg::CONTROL: if (write_start && (write_stop || !idle)) write_error = 1'b1;
      kiln_control_pkg::PROGRAM_ADDRESS: if (!idle) write_error = 1'b1;
      kiln_control_pkg::WATCHDOG_LIMIT: if (write_data == '0) write_error = 1'b1;
      kiln_control_pkg::INTERRUPT_ENABLE, kiln_control_pkg::INTERRUPT_STATUS: ;
      default: write_error = 1'b1;
    endcase
  end
  assign start = written && write_address == kiln_control_pkg::CONTROL && write_start;
  assign stop = written && write_address == kiln_control_pkg::CONTROL && write_stop && !idle;

  logic status_done, status_error;
  logic [1:0] interrupt_enable, interrupt_status, interrupt_cleared;
  kiln_control_pkg::error_t error_code;
  logic [15:0] error_instruction, error_word;
  assign interrupt_cleared =
      written && write_address == kiln_control_pkg::INTERRUPT_STATUS ? write_data[1:0] : '0;

  always_ff @(posedge clock) begin
    if (reset) begin
      program_address  <= '0;
      watchdog_limit   <= WATCHDOG_DEFAULT;
      interrupt_enable <= '0;
      interrupt_status <= '0;
      irq              <= 1'b0;
      status_done      <= 1'b0;
      status_error     <= 1'b0;
      error_code       <= kiln_control_pkg::ERROR_NONE;
      error_instruction <= '0;
      error_word       <= '0;
    end else begin
      if (written) begin
        case (write_address)
          kiln_control_pkg::PROGRAM_ADDRESS: program_address <= write_data;
          kiln_control_pkg::WATCHDOG_LIMIT: watchdog_limit <= write_data;
          kiln_control_pkg::INTERRUPT_ENABLE: interrupt_enable <= write_data[1:0];
          default: ;
        endcase
      end
      interrupt_status <= (interrupt_status & ~interrupt_cleared) |
          (2'(done) << kiln_control_pkg::INTERRUPT_DONE) |
              (2'(failed) << kiln_control_pkg::INTERRUPT_ERROR);
      irq <= (interrupt_status & interrupt_enable) != '0;
      if (start) begin
        status_done       <= 1'b0;
        status_error      <= 1'b0;
        error_code        <= kiln_control_pkg::ERROR_NONE;
        error_instruction <= '0;
        error_word        <= '0;
      end else begin
        if (done) status_done <= 1'b1;
        if (failed) begin
          status_error      <= 1'b1;
          error_code        <= failed_code;
          error_instruction <= failed_instruction;
          error_word        <= failed_word;
        end
      end
    end
  end

  // ---- Reads. Reading the low half of a counter latches its high half.
  localparam int unsigned HIGH_BITS = kiln_control_pkg::COUNTER_BITS - 32;
  logic [HIGH_BITS-1:0] held;
  logic counter_place;
  assign counter_place = read_address >= kiln_control_pkg::COUNTERS &&
      read_address < kiln_control_pkg::COUNTERS + REGISTER_BITS'(64 * kiln_control_pkg::UNITS);
  assign read_ready = read_valid || !counter_place || read_address[2];
  assign read_unit = read_address[8:6] - kiln_control_pkg::COUNTERS[8:6];
  assign read_counter = read_address[5:3];
  always_comb begin
    read_error = 1'b0;
    read_data  = '0;
    if (counter_place) begin
      read_data = read_address[2] ? 32'(held) : read_value[31:0];
    end else begin
      case (read_address)
        kiln_control_pkg::IDENTITY: read_data = kiln_control_pkg::IDENTITY_VALUE;
        kiln_control_pkg::VERSION: read_data = kiln_control_pkg::VERSION_VALUE;
        kiln_control_pkg::CONTROL: read_data = '0;
        kiln_control_pkg::STATUS: read_data = {29'd0, status_error, status_done, !idle};
        kiln_control_pkg::INTERRUPT_ENABLE: read_data = {30'd0, interrupt_enable};
        kiln_control_pkg::INTERRUPT_STATUS: read_data = {30'd0, interrupt_status};
        kiln_control_pkg::ERROR_CODE: read_data = {24'd0, error_code};
        kiln_control_pkg::ERROR_PLACE: read_data = {error_instruction, error_word};
        kiln_control_pkg::PROGRAM_ADDRESS: read_data = program_address;
        kiln_control_pkg::WATCHDOG_LIMIT: read_data = watchdog_limit;
        kiln_control_pkg::FINISHED: read_data = {16'd0, finished};
        kiln_control_pkg::CYCLES: read_data = cycles[31:0];
        kiln_control_pkg::CYCLES_HIGH: read_data = 32'(held);
        default: read_error = 1'b1;
      endcase
    end
  end
  always_ff @(posedge clock) begin
    if (reset) held <= '0;
    else if (read_enable && !read_address[2]) begin
      if (counter_place) held <= read_value[kiln_control_pkg::COUNTER_BITS-1:32];
      if (read_address == kiln_control_pkg::CYCLES)
        held <= cycles[kiln_control_pkg::COUNTER_BITS-1:32];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_when_idle : assert (!start || idle);
      start_or_stop : assert (!(start && stop));
      refused_write_changes_nothing : assert (!(write_enable && write_error) || (!start && !stop));
      error_has_a_code : assert (!failed || failed_code != kiln_control_pkg::ERROR_NONE);
    end
  end
`endif
endmodule
