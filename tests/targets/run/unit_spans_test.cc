#include "kiln/targets/run/unit_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kiln/targets/run/merge_trace.h"

namespace kiln {
namespace {

using testing::ElementsAre;

std::vector<std::vector<int64_t>> SpansOf(const Trace& trace) {
  std::vector<std::vector<int64_t>> spans;
  for (const Span& span : trace.spans) spans.push_back({span.unit, span.begin, span.end});
  return spans;
}

TEST(UnitSpans, JoinsCyclesThatTouch) {
  UnitSpans spans(2);
  spans.Work(0, 10, 11);
  spans.Work(1, 10, 12);
  spans.Work(0, 11, 12);
  spans.Work(1, 11, 12);
  spans.Work(0, 14, 20);
  Trace trace;
  trace.cycles = 8;
  spans.MoveTo(11, &trace);
  EXPECT_THAT(SpansOf(trace),
              ElementsAre(ElementsAre(0, 0, 1), ElementsAre(1, 0, 1), ElementsAre(0, 3, 8)));
  EXPECT_EQ(trace.span_resolution, 0);
  Trace next;
  next.cycles = 8;
  spans.MoveTo(0, &next);
  EXPECT_TRUE(next.spans.empty());
}

// A unit that works in every second cycle would have half a million spans. The joined ones cover
// the same cycles.
TEST(UnitSpans, AreLimited) {
  UnitSpans spans(3);
  constexpr int64_t kCycles = 1'000'000;
  for (int64_t cycle = 0; cycle < kCycles; cycle += 2) spans.Work(2, cycle, cycle + 1);
  Trace trace;
  trace.cycles = kCycles;
  spans.MoveTo(0, &trace);
  EXPECT_LE(trace.spans.size(), kMostSpans);
  EXPECT_GT(trace.span_resolution, 0);
  ASSERT_FALSE(trace.spans.empty());
  EXPECT_EQ(trace.spans.front().begin, 0);
  EXPECT_EQ(trace.spans.back().end, kCycles - 1);
  for (size_t i = 1; i < trace.spans.size(); ++i)
    ASSERT_GE(trace.spans[i].begin, trace.spans[i - 1].end);
}

}  // namespace
}  // namespace kiln
