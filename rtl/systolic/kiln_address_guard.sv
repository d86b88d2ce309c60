// A guard between a unit and its memory port: discards requests that reach outside the memory.
// `fault` is high while such a request is offered; the command processor then stops the machine.
// Combinational. A null request (bytes = 0) always passes. The guard is ready for a request that it
// discards when the port is: `unit_ready` does not depend on the request, so that no path leads
// from an address through the guard back into the unit.
module kiln_address_guard #(
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    parameter int unsigned BYTES_BITS = 5,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                    unit_valid,
    output logic                    unit_ready,
    input  logic [ADDRESS_BITS-1:0] address,
    input  logic [  BYTES_BITS-1:0] bytes,
    output logic                    port_valid,
    input  logic                    port_ready,
    output logic                    fault
);
  localparam int unsigned WIDE = ADDRESS_BITS + 1;
  logic outside;
  assign outside = bytes != '0 && WIDE'(address) + WIDE'(bytes) > WIDE'(MEMORY_BYTES);
  assign port_valid = unit_valid && !outside;
  assign unit_ready = port_ready;
  assign fault = unit_valid && outside;
endmodule
