// The rules by which a single instruction is at fault: fields, memories, ranges of indices, and the
// limit of steps.

#include "kiln/targets/vta/simulate/functional/fault_rules.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace kiln::vta {

std::optional<Fault> FindStaticFault(const Instruction& in, size_t index, const Config& config) {
  const auto fault = [&](FaultKind kind, std::string message) {
    return Fault{kind, index, std::move(message)};
  };
  if (in.opcode > Opcode::kAlu) {
    return fault(FaultKind::kBadOpcode,
                 fmt::format("opcode {} is reserved", static_cast<int>(in.opcode)));
  }
  if (in.opcode == Opcode::kAlu && in.alu > AluOp::kMultiply) {
    return fault(FaultKind::kBadOpcode,
                 fmt::format("ALU operation {} is reserved", static_cast<int>(in.alu)));
  }
  const Stage stage = StageOf(in);
  if (stage == Stage::kLoad && (in.pop_previous || in.push_previous)) {
    return fault(FaultKind::kBadDependency, "there is no stage before load");
  }
  if (stage == Stage::kStore && (in.pop_next || in.push_next)) {
    return fault(FaultKind::kBadDependency, "there is no stage behind store");
  }
  if ((in.opcode != Opcode::kLoad && in.opcode != Opcode::kStore) || IsNop(in)) return std::nullopt;

  const bool store = in.opcode == Opcode::kStore;
  const bool reaches = store ? in.memory == Memory::kOutput
                             : in.memory != Memory::kOutput && in.memory <= Memory::kAccumulator8;
  if (!reaches) {
    return fault(FaultKind::kBadMemoryId,
                 fmt::format("memory {} ({}) takes no {}", static_cast<int>(in.memory),
                             NameOf(in.memory), store ? "store" : "load"));
  }
  if (store && (in.y_pad_before | in.y_pad_after | in.x_pad_before | in.x_pad_after) != 0) {
    return fault(FaultKind::kBadField, "a store has padding");
  }
  const uint64_t end = in.sram_base + RectangleOf(in);
  const auto elements = static_cast<uint64_t>(ElementsOf(in.memory, config));
  if (end > elements) {
    return fault(FaultKind::kSramRange, fmt::format("elements {} to {} of {} {}", in.sram_base,
                                                    end - 1, elements, NameOf(in.memory)));
  }
  return std::nullopt;
}

std::optional<Fault> FindUopFault(const Instruction& in, size_t index, const Config& config) {
  if (StepsOf(in) == 0 || in.uop_end <= config.uops()) return std::nullopt;
  return Fault{FaultKind::kSramRange, index,
               fmt::format("uop {} of {}", in.uop_end - 1, config.uops())};
}

std::optional<Fault> FindTooLong(const Instruction& in, size_t index, uint64_t left,
                                 uint64_t most) {
  const uint64_t cost = CostOf(in);
  if (cost <= left) return std::nullopt;
  return Fault{FaultKind::kTooLong, index,
               fmt::format("{} steps more, and {} of {} are left", cost, left, most)};
}

UopMaximum MaximumOf(std::span<const Uop> uops) {
  UopMaximum greatest;
  for (const Uop& uop : uops) {
    greatest.dst = std::max(greatest.dst, uop.dst);
    greatest.src = std::max(greatest.src, uop.src);
    greatest.weight = std::max(greatest.weight, uop.weight);
  }
  return greatest;
}

std::optional<Fault> FindRangeFault(const Instruction& in, size_t index, const UopMaximum& uops,
                                    const Config& config) {
  if (StepsOf(in) == 0) return std::nullopt;
  const auto beyond = [&](std::string_view what, uint32_t greatest, uint32_t outer, uint32_t inner,
                          int64_t elements) -> std::optional<Fault> {
    const uint64_t last =
        uint64_t{greatest} + uint64_t{in.outer - 1} * outer + uint64_t{in.inner - 1} * inner;
    if (last < static_cast<uint64_t>(elements)) return std::nullopt;
    return Fault{FaultKind::kSramRange, index, fmt::format("{} {} of {}", what, last, elements)};
  };
  if (auto fault = beyond("acc", uops.dst, in.dst_outer, in.dst_inner, config.accumulators()))
    return fault;
  if (in.opcode == Opcode::kAlu) {
    return beyond("acc", uops.src, in.src_outer, in.src_inner, config.accumulators());
  }
  if (in.reset) return std::nullopt;
  if (auto fault = beyond("inp", uops.src, in.src_outer, in.src_inner, config.inputs()))
    return fault;
  return beyond("wgt", uops.weight, in.weight_outer, in.weight_inner, config.weights());
}

}  // namespace kiln::vta
