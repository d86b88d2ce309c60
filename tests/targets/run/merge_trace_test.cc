#include "kiln/targets/run/merge_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::Pair;

UnitTrace Unit(std::string name, int64_t busy, std::map<std::string, int64_t> stalls, int64_t read,
               int64_t written) {
  return {std::move(name), busy, std::move(stalls), read, written};
}

// Queues keep the highest level of all parts; parts without units, such as those of other images,
// leave them.
TEST(AppendTrace, QueuesKeepTheirHighestLevel) {
  Trace first, second, third;
  first.units = second.units = {Unit("a", 1, {}, 0, 0)};
  first.queues = {{"in to a", -1, 0, 4, 3}, {"a to out", 0, -1, 2, 1}};
  second.queues = {{"in to a", -1, 0, 4, 2}, {"a to out", 0, -1, 2, 2}};
  Trace trace;
  AppendTrace(first, &trace);
  AppendTrace(second, &trace);
  AppendTrace(third, &trace);
  ASSERT_EQ(trace.queues.size(), 2u);
  EXPECT_EQ(trace.queues[0].highest, 3);
  EXPECT_EQ(trace.queues[1].highest, 2);
  EXPECT_EQ(trace.queues[1].depth, 2);
  EXPECT_EQ(trace.queues[0].name, "in to a");
}

TEST(AppendTrace, APartBeginsWhereTheTraceEnds) {
  Trace first;
  first.cycles = 10;
  first.span_resolution = 2;
  first.units = {Unit("array", 4, {{"port", 1}}, 100, 0), Unit("vector", 5, {}, 0, 7)};
  first.kernels = {{0, 0, 10, 0}};
  first.spans = {{0, 0, 3, 7}};
  Trace second;
  second.cycles = 6;
  second.span_resolution = 1;
  second.units = {Unit("array", 3, {{"port", 2}, {"bank", 9}}, 20, 1), Unit("vector", 1, {}, 3, 4)};
  second.kernels = {{1, 0, 5, 0}, {2, 5, 6, 0}};
  second.spans = {{1, 1, 0, 2}, {0, 2, 5, 6}};

  Trace trace;
  AppendTrace(first, &trace);
  AppendTrace(second, &trace);
  EXPECT_EQ(trace.cycles, 16);
  EXPECT_EQ(trace.span_resolution, 2);
  ASSERT_EQ(trace.kernels.size(), 3u);
  EXPECT_EQ(trace.kernels[1].kernel, 1);
  EXPECT_EQ(trace.kernels[1].begin, 10);
  EXPECT_EQ(trace.kernels[1].end, 15);
  EXPECT_EQ(trace.kernels[2].begin, 15);
  EXPECT_EQ(trace.kernels[2].end, 16);
  ASSERT_EQ(trace.spans.size(), 3u);
  EXPECT_EQ(trace.spans[0].begin, 3);
  EXPECT_EQ(trace.spans[1].unit, 1);
  EXPECT_EQ(trace.spans[1].begin, 10);
  EXPECT_EQ(trace.spans[2].end, 16);
  ASSERT_EQ(trace.units.size(), 2u);
  EXPECT_EQ(trace.units[0].name, "array");
  EXPECT_EQ(trace.units[0].busy_cycles, 7);
  EXPECT_THAT(trace.units[0].stall_cycles, ElementsAre(Pair("bank", 9), Pair("port", 3)));
  EXPECT_EQ(trace.units[0].bytes_read, 120);
  EXPECT_EQ(trace.units[0].bytes_written, 1);
  EXPECT_EQ(trace.units[1].busy_cycles, 6);
  EXPECT_EQ(trace.units[1].bytes_read, 3);
  EXPECT_EQ(trace.units[1].bytes_written, 11);
}

TEST(AppendTrace, APartWithoutUnitsAddsNothingToThem) {
  Trace trace;
  trace.units = {Unit("array", 4, {}, 8, 0)};
  Trace part;
  part.cycles = 5;
  AppendTrace(part, &trace);
  EXPECT_EQ(trace.cycles, 5);
  ASSERT_EQ(trace.units.size(), 1u);
  EXPECT_EQ(trace.units[0].busy_cycles, 4);
}

// Kernel 0 in three instructions, kernel 2 in two, and kernel 0 again: its second entry is its own.
TEST(MergeKernels, NeighboursOfOneKernelAreOneEntry) {
  std::vector<KernelInfo> kernels(3);
  kernels[0].macs = 10;
  kernels[2].macs = 7;
  Trace trace;
  trace.images = 4;
  trace.kernels = {{0, 0, 3, 0},  {0, 3, 5, 0},   {0, 5, 9, 0},
                   {2, 9, 12, 0}, {2, 12, 13, 0}, {0, 13, 20, 0}};
  MergeKernels(kernels, &trace);
  ASSERT_EQ(trace.kernels.size(), 3u);
  EXPECT_EQ(trace.kernels[0].kernel, 0);
  EXPECT_EQ(trace.kernels[0].begin, 0);
  EXPECT_EQ(trace.kernels[0].end, 9);
  EXPECT_EQ(trace.kernels[0].macs, 40);
  EXPECT_EQ(trace.kernels[1].kernel, 2);
  EXPECT_EQ(trace.kernels[1].begin, 9);
  EXPECT_EQ(trace.kernels[1].end, 13);
  EXPECT_EQ(trace.kernels[1].macs, 28);
  EXPECT_EQ(trace.kernels[2].begin, 13);
  EXPECT_EQ(trace.kernels[2].end, 20);
}

// Unit 0 works twice on kernel 0, five cycles apart, and then on kernel 1; unit 1 works once.
TEST(LimitSpans, JoinsNearNeighboursOfEqualKernels) {
  const std::vector<Span> all = {{0, 1, 20, 30}, {0, 0, 10, 12}, {0, 0, 0, 5}, {1, 0, 5, 9}};
  const auto spans_of = [](const Trace& trace) {
    std::vector<std::vector<int64_t>> spans;
    for (const Span& span : trace.spans)
      spans.push_back({span.unit, span.kernel, span.begin, span.end});
    return spans;
  };
  using Spans = std::vector<std::vector<int64_t>>;
  Trace enough;
  enough.spans = all;
  LimitSpans(4, &enough);
  EXPECT_EQ(spans_of(enough), (Spans{{0, 0, 0, 5}, {1, 0, 5, 9}, {0, 0, 10, 12}, {0, 1, 20, 30}}));
  EXPECT_EQ(enough.span_resolution, 0);
  Trace fewer;
  fewer.spans = all;
  LimitSpans(3, &fewer);
  EXPECT_EQ(spans_of(fewer), (Spans{{0, 0, 0, 12}, {1, 0, 5, 9}, {0, 1, 20, 30}}));
  EXPECT_EQ(fewer.span_resolution, 8);  // 1, 2, 4, 8: the first of at least 5
  Trace least;                          // different kernels and units stay apart
  least.spans = all;
  LimitSpans(1, &least);
  EXPECT_EQ(least.spans.size(), 3u);
}

}  // namespace
}  // namespace kiln
