// Describes the registers of the machine.

#include "kiln/targets/vta/isa/registers.h"

#include <string>

#include "fmt/format.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/faults.h"

namespace kiln::vta {
namespace {

constexpr uint32_t kFirstCounter = 0x040;

// The faults, as the register names them: a kind's code is 1 more than its number.
std::vector<hardware::RegisterValue> FaultValues() {
  const auto value = [](FaultKind kind, const std::string& text) {
    return hardware::RegisterValue{static_cast<uint32_t>(kind) + 1, std::string(NameOf(kind)),
                                   text};
  };
  return {value(FaultKind::kSramRange, "an index or range beyond a buffer"),
          value(FaultKind::kDramRange, "an address where there is no memory"),
          value(FaultKind::kBadOpcode, "a reserved opcode or ALU operation"),
          value(FaultKind::kBadMemoryId, "a memory that the instruction cannot access"),
          value(FaultKind::kBadField, "a store with padding"),
          value(FaultKind::kBadDependency, "a token to or from a stage that does not exist"),
          value(FaultKind::kDeadlock, "an instruction waits for a token that none gives"),
          value(FaultKind::kNoFinish, "no FINISH, or one that does not wait for all others")};
}

}  // namespace

hardware::RegisterMap Registers() {
  const bool yes = true, no = false;
  hardware::RegisterMap map;
  map.machine = "the VTA machine";
  map.page = "docs/vta-machine.md";
  map.identity = 0x4b494c4e;  // "KILN"
  map.version = 0;
  const std::string base = "ORed into byte addresses of ";
  map.registers = {
      {"CONTROL",
       0x000,
       yes,
       yes,
       "2 after FINISH, and after a fault",
       {{"LAUNCH", 0, 0, "a 1 written starts a launch; 1 while it runs"},
        {"FINISHED", 1, 1, "the interrupt line; software lowers it by writing 0"}}},
      {"CYCLES", 0x004, yes, yes, "of the last launch"},
      {"INSTRUCTIONS", 0x008, yes, yes, "number of the program's instructions"},
      {"PROGRAM_ADDRESS", 0x00c, yes, yes, "byte address of the first"},
      {"UOP_BASE", 0x010, yes, yes, base + "micro-ops"},
      {"INPUT_BASE", 0x014, yes, yes, base + "inputs"},
      {"WEIGHT_BASE", 0x018, yes, yes, base + "weights"},
      {"ACCUMULATOR_BASE", 0x01c, yes, yes, base + "accumulators"},
      {"OUTPUT_BASE", 0x020, yes, yes, base + "outputs"},
      {"FAULT", 0x028, yes, no, "of the last launch, 0: none", {}, FaultValues()},
      {"FAULT_INSTRUCTION", 0x02c, yes, no, "number of the instruction that caused it"},
      {"IDENTITY", 0x030, yes, no, fmt::format("0x{:08x}, \"KILN\"", map.identity)}};
  map.counters.push_back({"accumulator_writes", 0x024, 1,
                          "accumulator elements written by the GEMM and ALU units: one a step (in "
                          "a cycle in which both write, two)"});
  uint32_t address = kFirstCounter;
  for (const CounterInfo& counter : CounterTable()) {
    map.counters.push_back(
        {fmt::format("{}.{}", counter.unit, counter.name), address, 1, std::string(counter.what)});
    address += 4;
  }
  map.control = {.program = {"PROGRAM_ADDRESS", "INSTRUCTIONS"},
                 .start = {"CONTROL", 1, 1},
                 .busy = {"CONTROL", 1, 1},
                 .ended = {"CONTROL", 2, 2},
                 .error = "FAULT",
                 .error_place = "FAULT_INSTRUCTION",
                 .cycles = "CYCLES"};
  return map;
}

}  // namespace kiln::vta
