// Merges busy times into spans, and limits their number.
#include "kiln/targets/systolic/simulate/cycle/cycle_recorder.h"

#include <algorithm>

namespace kiln::systolic {

Recorder::Recorder(hardware::Simulator& simulator, std::span<const Instruction> instructions)
    : simulator_(simulator),
      instructions_(instructions),
      units_(kUnits),
      busy_(instructions.size() * kUnits) {
  for (size_t u = 0; u < kUnits; ++u) units_[u].name = kUnitTable[u].name;
  for (const Unit unit : {kInputFetch, kWeightFetch, kParameterFetch, kCommandProcessor})
    units_[unit].transfers = true;
}

void Recorder::Stall(Unit unit, const char* cause, int64_t since) {
  if (const int64_t cycles = simulator_.now() - since; cycles > 0)
    units_[unit].stall_cycles[cause] += cycles;
}

void Recorder::Busy(Unit unit, size_t index, int64_t begin, int64_t end) {
  if (begin >= end) return;
  units_[unit].busy_cycles += end - begin;
  busy_[index * kUnits + unit] += end - begin;
  const int kernel = static_cast<int>(instructions_[index].kernel);
  std::vector<Span>& spans = spans_[unit];
  if (!spans.empty() && Joins(spans.back(), kernel, begin)) {
    spans.back().end = end;
    return;
  }
  spans.push_back({unit, kernel, begin, end});
  if (++count_ > kMaxSpans) Coarsen();
}

void Recorder::TakeSpans(Trace& trace) const {
  for (const std::vector<Span>& spans : spans_)
    trace.spans.insert(trace.spans.end(), spans.begin(), spans.end());
  // A unit never begins two spans in the same cycle, so this order is total.
  std::sort(trace.spans.begin(), trace.spans.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.unit < b.unit;
  });
  trace.span_resolution = resolution_;
}

bool Recorder::Joins(const Span& last, int kernel, int64_t begin) const {
  return last.kernel == kernel && begin - last.end <= resolution_;
}

void Recorder::Coarsen() {
  while (count_ > kMaxSpans / 4 * 3 && resolution_ < kCoarsest) {
    resolution_ = std::max<int64_t>(1, 2 * resolution_);
    count_ = 0;
    for (std::vector<Span>& spans : spans_) {
      size_t kept = 0;
      for (size_t i = 1; i < spans.size(); ++i) {
        if (Joins(spans[kept], spans[i].kernel, spans[i].begin)) {
          spans[kept].end = spans[i].end;
        } else {
          spans[++kept] = spans[i];
        }
      }
      if (!spans.empty()) spans.resize(kept + 1);
      count_ += spans.size();
    }
  }
}

}  // namespace kiln::systolic
