// The registers of the systolic machine, for testbenches and software: the addresses and bits of
// rtl/systolic/kiln_control_pkg.sv.
#ifndef KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_
#define KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_

#include <cstdint>

namespace kiln::testbench::systolic {

constexpr uint32_t kControl = 0x008, kStatus = 0x00c, kErrorCode = 0x018, kErrorPlace = 0x01c;
constexpr uint32_t kInterruptEnable = 0x010, kInterruptStatus = 0x014;
constexpr uint32_t kProgramAddress = 0x020, kWatchdogLimit = 0x028;
constexpr uint32_t kCycles = 0x030, kCyclesHigh = 0x034, kCounters = 0x100;

constexpr uint32_t kControlStart = 1, kControlStop = 2;
constexpr uint32_t kInterruptDone = 1, kInterruptError = 2;
constexpr uint32_t kStatusBusy = 1, kStatusDone = 2, kStatusError = 4;

// The units, with the names of what they wait for; a null is a wait that the unit does not have.
constexpr uint32_t kWaits = 3;
struct UnitNames {
  const char* name;
  const char* waits[kWaits];
};
constexpr UnitNames kUnits[] = {
    {"input_fetch", {"waits_earlier_instruction", "waits_input_bank_full", nullptr}},
    {"weight_fetch", {"waits_earlier_instruction", "waits_weight_bank_full", nullptr}},
    {"weight_load", {"waits_weight_bank_empty", "waits_shadow_registers_full", nullptr}},
    {"array", {"waits_input_bank_empty", "waits_weights", "waits_accumulation_bank_full"}},
    {"depthwise", {"waits_input_bank_empty", "waits_weights", "waits_accumulation_bank_full"}},
    {"parameters", {"waits_operand_port_in_use", "waits_parameter_buffer_full", nullptr}},
    {"vector", {"waits_earlier_instruction", "waits_accumulators", "waits_channel_parameters"}},
    {"command", {"waits_next_word", "waits_queue_full", "waits_stage_memories_full"}}};

// Counter k of unit u is at address kCounters + 64 u + 8 k, low word first. CounterName returns its
// name, as the C driver prints it, or null if the unit does not have the counter.
constexpr uint32_t kUnitCounters = kWaits + 3;
constexpr const char* CounterName(const UnitNames& unit, uint32_t counter) {
  if (counter == 0) return "busy";
  if (counter <= kWaits) return unit.waits[counter - 1];
  return counter == kWaits + 1 ? "bytes_read" : "bytes_written";
}
constexpr uint32_t CounterAddress(uint32_t unit, uint32_t counter) {
  return kCounters + 64 * unit + 8 * counter;
}

}  // namespace kiln::testbench::systolic

#endif  // KILN_TESTBENCH_SYSTOLIC_REGISTERS_H_
