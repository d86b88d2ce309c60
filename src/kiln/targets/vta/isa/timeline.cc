// Records spans of units and instructions over consecutive launches and turns them into a trace.

#include "kiln/targets/vta/isa/timeline.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <tuple>

namespace kiln::vta {
namespace {

int64_t Signed(uint64_t cycles) { return static_cast<int64_t>(cycles); }

}  // namespace

std::string_view NameOf(Unit unit) {
  static constexpr std::array<std::string_view, kUnits> kNames = {
      "fetch", "load", "examination", "gemm", "alu", "loader", "store"};
  return kNames[static_cast<size_t>(unit)];
}

void Timeline::Add(Unit unit, size_t instruction, uint64_t begin, uint64_t end) {
  spans_.push_back({.unit = static_cast<int>(unit),
                    .kernel = static_cast<int>(instructions() + instruction),
                    .begin = Signed(cycles_ + begin),
                    .end = Signed(cycles_ + end)});
}

void Timeline::AddInstruction(size_t instruction, uint64_t begin, uint64_t done) {
  kernels_.push_back({.kernel = static_cast<int>(instructions() + instruction),
                      .begin = Signed(cycles_ + begin),
                      .end = Signed(cycles_ + done + 1)});
}

void Timeline::EndLaunch(std::span<const uint8_t> program, const RunTime& time) {
  program_.insert(program_.end(), program.begin(), program.end());
  cycles_ += time.cycles;
  counters_ += time.counters;
}

Trace Timeline::ToTrace() const {
  Trace trace;
  trace.cycles = Signed(cycles_);
  trace.units.resize(kUnits);
  trace.spans = spans_;
  std::sort(trace.spans.begin(), trace.spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.begin, a.unit, a.kernel) < std::tie(b.begin, b.unit, b.kernel);
  });
  trace.kernels = kernels_;
  std::sort(trace.kernels.begin(), trace.kernels.end(),
            [](const KernelTrace& a, const KernelTrace& b) { return a.kernel < b.kernel; });
  for (int u = 0; u < kUnits; ++u)
    trace.units[static_cast<size_t>(u)].name = NameOf(static_cast<Unit>(u));
  for (const Span& span : spans_) {
    trace.units[static_cast<size_t>(span.unit)].busy_cycles += span.end - span.begin;
  }
  const auto unit = [&](Unit u) -> UnitTrace& { return trace.units[static_cast<size_t>(u)]; };
  const auto stalls = [&](Unit u, std::initializer_list<Counter> causes) {
    for (const Counter cause : causes) {
      unit(u).stall_cycles[std::string(CounterTable()[static_cast<size_t>(cause)].name)] =
          Signed(counters_[cause]);
    }
  };
  stalls(Unit::kFetch, {Counter::kFetchQueueFull});
  stalls(Unit::kLoad, {Counter::kLoadTokens, Counter::kLoadPort});
  stalls(Unit::kExamination,
         {Counter::kComputeMicroOpsLoading, Counter::kComputeTokens, Counter::kComputeQueueFull,
          Counter::kComputeBanks, Counter::kComputeMicroOpsInUse});
  stalls(Unit::kLoader, {Counter::kLoaderPort});
  stalls(Unit::kStore, {Counter::kStoreTokens});
  unit(Unit::kFetch).bytes_read = Signed(counters_[Counter::kInstructionBytes]);
  unit(Unit::kLoad).bytes_read =
      Signed(counters_[Counter::kInputBytes] + counters_[Counter::kWeightBytes]);
  unit(Unit::kLoader).bytes_read =
      Signed(counters_[Counter::kUopBytes] + counters_[Counter::kAccumulatorBytes]);
  unit(Unit::kStore).bytes_written = Signed(counters_[Counter::kOutputBytes]);
  return trace;
}

}  // namespace kiln::vta
