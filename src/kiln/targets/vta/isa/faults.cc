// Names and compares the kinds of faults.

#include "kiln/targets/vta/isa/faults.h"

#include "fmt/format.h"

namespace kiln::vta {
std::string_view NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kSramRange:
      return "sram_range";
    case FaultKind::kDramRange:
      return "dram_range";
    case FaultKind::kBadOpcode:
      return "bad_opcode";
    case FaultKind::kBadMemoryId:
      return "bad_memory_id";
    case FaultKind::kBadField:
      return "bad_field";
    case FaultKind::kBadDependency:
      return "bad_dependency";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kNoFinish:
      return "no_finish";
    case FaultKind::kTooLong:
      return "too_long";
  }
  return "?";
}

StatusOr<FaultKind> FindFaultKind(std::string_view name) {
  std::string names;
  for (int number = 0; number <= static_cast<int>(FaultKind::kTooLong); ++number) {
    const auto kind = static_cast<FaultKind>(number);
    if (NameOf(kind) == name) return kind;
    names += fmt::format("{}{}", names.empty() ? "one of: " : ", ", NameOf(kind));
  }
  return ErrorAt("", "", fmt::format("there is no fault '{}'", name), names);
}

std::optional<std::string> FindDifference(const std::optional<Fault>& is,
                                          const std::optional<Fault>& should) {
  const auto text = [](const std::optional<Fault>& fault) {
    if (!fault.has_value()) return std::string("no fault");
    if (fault->kind == FaultKind::kTooLong) return std::string(NameOf(fault->kind));
    return fmt::format("{} of instruction {}", NameOf(fault->kind), fault->instruction);
  };
  const std::string a = text(is), b = text(should);
  return a == b ? std::nullopt : std::optional(a + "; " + b);
}

}  // namespace kiln::vta
