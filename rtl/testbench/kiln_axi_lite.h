// Register accesses of software to a Verilated design's AXI4-Lite slave with the ports
// control_awvalid, control_rdata, ... Self-contained C++17, because it is copied into emitted
// designs.
//
//   settle()   drives the inputs of the cycle and evaluates the combinational logic
//   edge()     ends the cycle
#ifndef KILN_TESTBENCH_AXI_LITE_H_
#define KILN_TESTBENCH_AXI_LITE_H_

#include <cstdint>

namespace kiln::testbench {

// Drives the bus idle: no request and no ready.
template <typename Top>
void AxiLiteIdle(Top& top) {
  top.control_awvalid = top.control_wvalid = top.control_arvalid = 0;
  top.control_bready = top.control_rready = 0;
}

// Writes a register and waits for the response. Returns false if the response is an error.
template <typename Top, typename Settle, typename Edge>
bool AxiLiteWrite(Top& top, uint32_t address, uint32_t data, Settle settle, Edge edge) {
  top.control_awvalid = 1;
  top.control_awaddr = static_cast<uint16_t>(address);
  top.control_wvalid = 1;
  top.control_wdata = data;
  top.control_wstrb = 15;
  top.control_bready = 1;
  for (;;) {
    settle();
    const bool address_taken = top.control_awready, data_taken = top.control_wready;
    const bool answered = top.control_bvalid;
    const unsigned response = top.control_bresp;
    edge();
    if (address_taken) top.control_awvalid = 0;
    if (data_taken) top.control_wvalid = 0;
    if (answered) {
      top.control_bready = 0;
      return response == 0;
    }
  }
}

// Reads a register and waits for its data. Sets `error`, unless it is null, to whether the response
// is an error.
template <typename Top, typename Settle, typename Edge>
uint32_t AxiLiteRead(Top& top, uint32_t address, Settle settle, Edge edge, bool* error = nullptr) {
  top.control_arvalid = 1;
  top.control_araddr = static_cast<uint16_t>(address);
  top.control_rready = 1;
  for (;;) {
    settle();
    const bool taken = top.control_arready, answered = top.control_rvalid;
    const uint32_t data = top.control_rdata;
    const unsigned response = top.control_rresp;
    edge();
    if (taken) top.control_arvalid = 0;
    if (answered) {
      top.control_rready = 0;
      if (error != nullptr) *error = response != 0;
      return data;
    }
  }
}

}  // namespace kiln::testbench

#endif  // KILN_TESTBENCH_AXI_LITE_H_
