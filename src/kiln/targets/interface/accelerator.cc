// The defaults of the interface: what a family does not say otherwise.
#include "kiln/targets/interface/accelerator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kiln {

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kReference:
      return "reference";
    case Level::kFunctional:
      return "functional";
    case Level::kCycle:
      return "cycle";
    case Level::kRtl:
      return "rtl";
  }
  return "?";
}

StatusOr<Level> FindLevel(std::string_view name) {
  for (Level level : {Level::kReference, Level::kFunctional, Level::kCycle, Level::kRtl}) {
    if (NameOf(level) == name) return level;
  }
  return ErrorAt("", "", "unknown level '" + std::string(name) + "'",
                 "one of: reference, functional, cycle, rtl");
}

StatusOr<std::unique_ptr<Accelerator>> Accelerator::WithFormats(const QuantType&,
                                                                const QuantType&) const {
  return UnsupportedAt(
      "", name(), "the number formats of the " + std::string(family()) + " family are fixed",
      fmt::format("activations in {}; weights in {}", fmt::join(ActivationFormats(), ", "),
                  fmt::join(WeightFormats(), ", ")));
}

Status Accelerator::CheckObjective(Objective objective) const {
  const std::vector<Objective> possible = Objectives();
  if (std::find(possible.begin(), possible.end(), objective) != possible.end()) return OkStatus();
  std::string names;
  for (const Objective one : possible)
    names += (names.empty() ? "" : ", ") + std::string(NameOf(one));
  return UnsupportedAt("", name(),
                       "the " + std::string(family()) + " family does not choose schedules by " +
                           std::string(NameOf(objective)),
                       "one of: " + names);
}

std::string Accelerator::UntimedReason(const RtlOptions& rtl) const {
  if (rtl.stall_probability > 0)
    return "the channels stall at random, which the cycle level does not simulate";
  if (SimulatesMemory() || (rtl.steady_memory() && rtl.memory_latency == 0)) return "";
  return "the cycle level of this design point simulates no memory";
}

StatusOr<std::unique_ptr<Accelerator>> Accelerator::WithMemoryLatency(uint64_t) const {
  return UnsupportedAt(
      "", name(), "the " + std::string(family()) + " family has no memory behind its ports", "");
}

StatusOr<int64_t> Accelerator::IntervalBehind(const Program&, const RtlOptions&) const { return 0; }

StatusOr<Waveform> Accelerator::RecordDifference(const Program&, const Batch&, const RtlOptions&,
                                                 const std::filesystem::path&) const {
  return UnsupportedAt(
      "", name(), "the " + std::string(family()) + " family cannot record its hardware's signals",
      "");
}

StatusOr<Cost> Accelerator::EstimateProgramCost(const Program&, int node_nm) const {
  return EstimateCost(node_nm);
}

StatusOr<Energy> Accelerator::EstimateEnergy(const Program&, int) const {
  return UnsupportedAt("", name(),
                       "the " + std::string(family()) + " family has no model of energy", "");
}

StatusOr<Traffic> Accelerator::EstimateTraffic(const Program&) const {
  return UnsupportedAt(
      "", name(), "the " + std::string(family()) + " family does not count bytes by kernel", "");
}

}  // namespace kiln
