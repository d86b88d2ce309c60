// Describes the registers of the machine's control unit.

#include "kiln/targets/systolic/isa/registers.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"
#include "kiln/targets/systolic/isa/units.h"

namespace kiln::systolic {
namespace {

using hardware::RegisterMap;
using hardware::RegisterValue;

constexpr uint32_t kCounters = 0x100;  // of the first unit
constexpr uint32_t kUnitStride = 64, kCounterStride = 8;

std::vector<RegisterValue> Errors() {
  return {{1, "opcode", "unknown, or of a unit that the design point does not have"},
          {2, "order", "a word whose tag or index is not the one that belongs there"},
          {3, "length", "the length of the header is not the number of words"},
          {4, "count", "a count of 0, or beyond what the design point holds"},
          {5, "address", "a base address outside the memory, or a program at a wrong address"},
          {6, "enumerator", "a field with a value that means nothing"},
          {7, "program_end", "the program runs past the end of memory"},
          {8, "bus", "a port got SLVERR or DECERR"},
          {9, "range", "a unit was about to leave the memory"},
          {10, "watchdog", "no instruction finished within WATCHDOG_LIMIT cycles"},
          {11, "stopped", "stopped by CONTROL"}};
}

void AddCounters(RegisterMap* map) {
  for (uint32_t unit = 0; unit < kUnits; ++unit) {
    const UnitInfo& info = kUnitTable[unit];
    const auto add = [&](uint32_t number, const std::string& name, const std::string& text) {
      map->counters.push_back({fmt::format("{}.{}", info.name, name),
                               kCounters + kUnitStride * unit + kCounterStride * number, 2, text});
    };
    add(0, "busy", "cycles at work");
    for (uint32_t cause = 0; cause < kCauses; ++cause) {
      if (info.causes[cause] == nullptr) continue;
      std::string name = info.causes[cause];
      const std::string text = fmt::format("cycles of waiting: {}", name);
      std::ranges::replace(name, ' ', '_');
      add(1 + cause, fmt::format("waits_{}", name), text);
    }
    add(1 + kCauses, "bytes_read", "bytes");
    add(2 + kCauses, "bytes_written", "bytes");
  }
}

}  // namespace

RegisterMap Registers() {
  const bool yes = true, no = false;
  RegisterMap map;
  map.machine = "the systolic machine";
  map.page = "docs/rtl.md";
  map.identity = 0x4b494c4e;  // "KILN"
  map.version = 0x00020000;
  map.registers = {
      {"IDENTITY", 0x000, yes, no, fmt::format("0x{:08x}, \"KILN\"", map.identity)},
      {"VERSION", 0x004, yes, no, fmt::format("of this map: 0x{:08x}", map.version)},
      {"CONTROL",
       0x008,
       yes,
       yes,
       "reads as 0",
       {{"START", 0, 0, "starts the program, refused while busy"},
        {"STOP", 1, 1, "stops it, with an error as its result"}}},
      {"STATUS",
       0x00c,
       yes,
       no,
       "",
       {{"BUSY", 0, 0, "from the start until every port is quiet again"},
        {"DONE", 1, 1, "the last run has ended"},
        {"ERROR", 2, 2, "the last run has failed"}}},
      {"INTERRUPT_ENABLE",
       0x010,
       yes,
       yes,
       "",
       {{"DONE", 0, 0, "a run has ended"}, {"ERROR", 1, 1, "a run has failed"}}},
      {"INTERRUPT_STATUS",
       0x014,
       yes,
       yes,
       "a 1 written clears its bit; the interrupt line is high while a bit is 1 in both",
       {{"DONE", 0, 0, "a run has ended"}, {"ERROR", 1, 1, "a run has failed"}}},
      {"ERROR_CODE", 0x018, yes, no, "see below; 0 without an error", {}, Errors()},
      {"ERROR_PLACE",
       0x01c,
       yes,
       no,
       "",
       {{"INSTRUCTION", 31, 16, "number of the instruction, modulo 2^16"},
        {"WORD", 15, 0, "its word, where a word is to blame"}}},
      {"PROGRAM_ADDRESS", 0x020, yes, yes, "a multiple of 16; not while busy"},
      {"WATCHDOG_LIMIT", 0x028, yes, yes,
       "cycles that may pass without an instruction finishing, 1 or more; 2^28 after reset"},
      {"FINISHED", 0x02c, yes, no, "instructions whose writes are all in memory, modulo 2^16"},
      {"CYCLES",
       0x030,
       yes,
       no,
       "of the run: from its first cycle to the one in which its last instruction was finished, or "
       "it failed",
       {},
       {},
       2}};
  AddCounters(&map);
  map.first_unused = kCounters;
  map.last_unused = kCounters + kUnitStride * kUnits - 1;
  map.control = {.program = {"PROGRAM_ADDRESS"},
                 .start = {"CONTROL", 1, 1},
                 .busy = {"STATUS", 1, 1},
                 .ended = {"STATUS", 1, 0},
                 .error = "ERROR_CODE",
                 .error_place = "ERROR_PLACE",
                 .cycles = "CYCLES",
                 .stop = {"CONTROL", 2, 2}};
  return map;
}

}  // namespace kiln::systolic
