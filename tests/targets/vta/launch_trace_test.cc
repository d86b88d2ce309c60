#include "kiln/targets/vta/isa/launch_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kiln::vta {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(VtaLaunchTrace, UnitsAreAsTheCountersTell) {
  RunTime time;
  time.cycles = 500;
  time.counters[Counter::kLoadBusy] = 40;
  time.counters[Counter::kLoadPort] = 3;
  time.counters[Counter::kGemmSteps] = 70;
  time.counters[Counter::kComputeTokens] = 5;
  time.counters[Counter::kComputeQueueFull] = 6;
  time.counters[Counter::kLoaderBusy] = 9;
  time.counters[Counter::kInputBytes] = 100;
  time.counters[Counter::kWeightBytes] = 20;
  time.counters[Counter::kAccumulatorBytes] = 4;
  time.counters[Counter::kUopBytes] = 3;
  time.counters[Counter::kOutputBytes] = 11;
  const Trace trace = TraceOfLaunch(7, time, nullptr);
  EXPECT_EQ(trace.cycles, 500);
  ASSERT_EQ(trace.kernels.size(), 1u);
  EXPECT_EQ(trace.kernels[0].kernel, 7);
  EXPECT_EQ(trace.kernels[0].begin, 0);
  EXPECT_EQ(trace.kernels[0].end, 500);
  ASSERT_EQ(trace.units.size(), 5u);
  EXPECT_EQ(trace.units[0].name, "load");
  EXPECT_EQ(trace.units[0].busy_cycles, 40);
  EXPECT_THAT(trace.units[0].stall_cycles, ElementsAre(Pair("memory port", 3), Pair("tokens", 0)));
  EXPECT_EQ(trace.units[0].bytes_read, 120);
  EXPECT_EQ(trace.units[1].name, "gemm");
  EXPECT_EQ(trace.units[1].busy_cycles, 70);
  EXPECT_THAT(trace.units[1].stall_cycles,
              ElementsAre(Pair("banks", 0), Pair("examination", 0), Pair("micro-ops", 0),
                          Pair("queue", 6), Pair("tokens", 5)));
  EXPECT_EQ(trace.units[3].name, "loader");
  EXPECT_EQ(trace.units[3].bytes_read, 7);
  EXPECT_EQ(trace.units[4].bytes_written, 11);
  // Load, gemm and loader were busy; alu and store were not.
  std::vector<int> spans;
  for (const Span& span : trace.spans) {
    spans.push_back(span.unit);
    EXPECT_EQ(span.kernel, 7);
    EXPECT_EQ(span.begin, 0);
    EXPECT_EQ(span.end, 500);
  }
  EXPECT_THAT(spans, ElementsAre(0, 1, 3));
}

// Instructions of a unit that follow each other without a pause make one span.
TEST(VtaLaunchTrace, SpansAreThoseOfTheTimeline) {
  Timeline timeline;
  timeline.Add(Unit::kFetch, 0, 0, 2);
  timeline.Add(Unit::kLoad, 0, 10, 20);
  timeline.Add(Unit::kLoad, 2, 20, 25);
  timeline.Add(Unit::kGemm, 1, 30, 40);
  timeline.Add(Unit::kLoad, 3, 26, 30);
  RunTime time;
  time.cycles = 100;
  time.counters[Counter::kStoreBusy] = 5;  // not in this timeline
  const Trace trace = TraceOfLaunch(4, time, &timeline);
  std::vector<std::vector<int64_t>> spans;
  for (const Span& span : trace.spans)
    spans.push_back({span.unit, span.kernel, span.begin, span.end});
  EXPECT_THAT(spans, ElementsAre(ElementsAre(0, 4, 10, 25), ElementsAre(0, 4, 26, 30),
                                 ElementsAre(1, 4, 30, 40)));
}

TEST(VtaLaunchTrace, UnitsBeforeALaunchHaveNamesAlone) {
  const std::vector<UnitTrace> units = IdleUnits();
  ASSERT_EQ(units.size(), 5u);
  EXPECT_EQ(units[2].name, "alu");
  EXPECT_EQ(units[1].busy_cycles, 0);
  EXPECT_THAT(units[1].stall_cycles, IsEmpty());
}

}  // namespace
}  // namespace kiln::vta
