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

// Names of the units and of their counters, as the C driver prints them: counter k of unit u is at
// address kCounters + 64 u + 8 k, low word first. A null is a counter that the unit does not have.
constexpr uint32_t kUnitCounters = 6;
struct UnitNames {
  const char* name;
  const char* counters[kUnitCounters];
};
constexpr UnitNames kUnits[] = {
    {"input_fetch",
     {"busy", "waits_earlier_instruction", "waits_input_bank_full", nullptr, "bytes_read",
      "bytes_written"}},
    {"weight_fetch",
     {"busy", "waits_earlier_instruction", "waits_weight_bank_full", nullptr, "bytes_read",
      "bytes_written"}},
    {"weight_load",
     {"busy", "waits_weight_bank_empty", "waits_shadow_registers_full", nullptr, "bytes_read",
      "bytes_written"}},
    {"array",
     {"busy", "waits_input_bank_empty", "waits_weights", "waits_accumulation_bank_full",
      "bytes_read", "bytes_written"}},
    {"depthwise",
     {"busy", "waits_input_bank_empty", "waits_weights", "waits_accumulation_bank_full",
      "bytes_read", "bytes_written"}},
    {"parameters",
     {"busy", "waits_operand_port_in_use", "waits_parameter_buffer_full", nullptr, "bytes_read",
      "bytes_written"}},
    {"vector",
     {"busy", "waits_earlier_instruction", "waits_accumulators", "waits_channel_parameters",
      "bytes_read", "bytes_written"}},
    {"command",
     {"busy", "waits_next_word", "waits_queue_full", "waits_stage_memories_full", "bytes_read",
      "bytes_written"}}};

constexpr uint32_t CounterAddress(uint32_t unit, uint32_t counter) {
  return kCounters + 64 * unit + 8 * counter;
}

}  // namespace kiln::testbench::systolic

#endif  // KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_
