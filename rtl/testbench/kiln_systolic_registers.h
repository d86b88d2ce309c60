// The registers of the systolic machine, for testbenches and software: the addresses and bits of
// rtl/systolic/kiln_control_pkg.sv.
#ifndef KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_
#define KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_

#include <cstdint>

namespace kiln::testbench::systolic {

constexpr uint32_t kControl = 0x008, kStatus = 0x00c, kErrorCode = 0x018, kErrorPlace = 0x01c;
constexpr uint32_t kInterruptEnable = 0x010, kInterruptStatus = 0x014;
constexpr uint32_t kProgramAddress = 0x020, kProgramAddressHigh = 0x024, kWatchdogLimit = 0x028;
constexpr uint32_t kCycles = 0x030, kCyclesHigh = 0x034, kCounters = 0x100;

constexpr uint32_t kControlStart = 1, kControlStop = 2;
constexpr uint32_t kInterruptDone = 1, kInterruptError = 2;
constexpr uint32_t kStatusBusy = 1, kStatusDone = 2, kStatusError = 4;

// Names of the units and of their counters: counter k of unit u is at address kCounters + 64 u +
// 8 k, low word first.
constexpr const char* kUnits[] = {"input_fetch", "weight_fetch", "weight_load", "array",
                                  "depthwise",   "parameters",   "vector",      "command"};
constexpr const char* kUnitCounters[] = {"busy",     "stalled0",   "stalled1",
                                         "stalled2", "bytes_read", "bytes_written"};

constexpr uint32_t CounterAddress(uint32_t unit, uint32_t counter) {
  return kCounters + 64 * unit + 8 * counter;
}

}  // namespace kiln::testbench::systolic

#endif  // KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_
