// Collects spans, and joins near ones when they become too many.
#include "kiln/targets/run/unit_spans.h"

#include <algorithm>
#include <utility>

#include "kiln/targets/run/merge_trace.h"

namespace kiln {

void UnitSpans::Work(int unit, int64_t from, int64_t to) {
  int64_t& place = last_[static_cast<size_t>(unit)];
  if (place != kNone && from <= spans_.spans[static_cast<size_t>(place)].end) {
    int64_t& end = spans_.spans[static_cast<size_t>(place)].end;
    end = std::max(end, to);
    return;
  }
  if (spans_.spans.size() >= 4 * kMostSpans) {
    LimitSpans(kMostSpans, &spans_);
    std::ranges::fill(last_, kNone);  // they have moved
  }
  place = std::ssize(spans_.spans);
  spans_.spans.push_back({.unit = unit, .kernel = 0, .begin = from, .end = to});
}

void UnitSpans::MoveTo(int64_t begin, Trace* trace) {
  LimitSpans(kMostSpans, &spans_);
  trace->span_resolution = spans_.span_resolution;
  for (Span span : std::exchange(spans_.spans, {})) {
    span.begin = std::max<int64_t>(span.begin - begin, 0);
    span.end = std::min(span.end - begin, trace->cycles);
    if (span.begin < span.end) trace->spans.push_back(span);
  }
  std::ranges::fill(last_, kNone);
}

}  // namespace kiln
