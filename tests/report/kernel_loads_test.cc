// Tests of what limits kernels, and of the roofline, against figures by hand.
#include "kiln/report/kernel_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kiln/report/html.h"
#include "tests/report/example_report.h"
#include "tests/report/well_formed.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The kernels of ExampleReport: conv takes 2,500 cycles, pool 500, fc 1,000; the peak is 16
// multiply-accumulates a cycle.
RunReport LoadReport() {
  RunReport report = ExampleReport();
  report.traffic = Traffic::For({{.name = "weights", .bytes_per_cycle = 8},
                                 {.name = "inputs", .bytes_per_cycle = 4},
                                 {.name = "results", .bytes_per_cycle = 4, .writes = true}},
                                report.kernels.size());
  report.traffic->bytes = {{160, 2000, 1000}, {0, 1900, 64}, {0, 0, 0}, {640, 64, 40}};
  report.trace->units[1].transfers = true;
  // array, store
  report.trace->kernels[0].busy_cycles = {1900, 260};
  report.trace->kernels[1].busy_cycles = {0, 16};
  report.trace->kernels[2].busy_cycles = {700, 24};
  return report;
}

TEST(KernelLoads, TheBusiestUnitOrPortLimitsAKernel) {
  const std::vector<KernelLoad> loads = KernelLoads(LoadReport());
  ASSERT_EQ(loads.size(), 4U);
  // conv: array 1,900 of 2,500 cycles; inputs 2,000 / 4 = 500 cycles, results 250, weights 20.
  EXPECT_EQ(loads[0].limit, Limit::kCompute);
  EXPECT_EQ(loads[0].unit, "array");
  EXPECT_DOUBLE_EQ(loads[0].compute_share, 0.76);
  EXPECT_EQ(loads[0].port, 1);
  EXPECT_DOUBLE_EQ(loads[0].port_share, 0.2);
  EXPECT_EQ(loads[0].bytes_read, 2160);
  EXPECT_EQ(loads[0].bytes_written, 1000);
  EXPECT_DOUBLE_EQ(loads[0].operations, 40000);
  EXPECT_DOUBLE_EQ(loads[0].intensity(), 20);
  EXPECT_DOUBLE_EQ(loads[0].operations_per_cycle(), 16);
  // pool: 1,900 bytes need 475 of 500 cycles.
  EXPECT_EQ(loads[1].limit, Limit::kBandwidth);
  EXPECT_DOUBLE_EQ(loads[1].port_share, 0.95);
  EXPECT_DOUBLE_EQ(loads[1].operations, 64);  // no multiply-accumulates
  // erf is on the host.
  EXPECT_EQ(loads[2].limit, Limit::kUnknown);
  EXPECT_EQ(loads[2].cycles, 0);
  // fc: 70 % array, 8 % weights.
  EXPECT_EQ(loads[3].limit, Limit::kLatency);
  EXPECT_EQ(loads[3].port, 0);
  EXPECT_DOUBLE_EQ(loads[3].port_share, 0.08);
  const Traffic& traffic = *LoadReport().traffic;
  EXPECT_EQ(LimitText(loads[0], traffic), "compute (array 76.0 %)");
  EXPECT_EQ(LimitText(loads[1], traffic), "bandwidth (inputs 95.0 %)");
  EXPECT_EQ(LimitText(loads[2], traffic), "");
  EXPECT_EQ(LimitText(loads[3], traffic), "latency");
}

// 20,000 multiply-accumulates need 1,250 cycles at the peak, more than the units say.
TEST(KernelLoads, ThePeakCountsAsAUnit) {
  RunReport report = LoadReport();
  report.trace->kernels[0].busy_cycles = {100, 0};
  report.trace->kernels[0].end = 1300;
  report.trace->kernels[1].begin = 1300;
  const KernelLoad load = KernelLoads(report)[0];
  EXPECT_EQ(load.unit, "");
  EXPECT_DOUBLE_EQ(load.compute_share, 1250.0 / 1300);
  EXPECT_EQ(LimitText(load, *report.traffic), "compute (peak 96.2 %)");
}

TEST(KernelLoads, StagesThatWaitForOthersAreLimitedByThePipeline) {
  RunReport report = LoadReport();
  report.interval_cycles = 5000;
  const std::vector<KernelLoad> loads = KernelLoads(report);
  EXPECT_DOUBLE_EQ(loads[0].cycles, 5000);
  EXPECT_EQ(loads[0].limit, Limit::kPipeline);
  EXPECT_EQ(LimitText(loads[0], *report.traffic), "pipeline");
}

TEST(KernelLoads, AProgramThatHasNotRunHasBytesOnly) {
  RunReport report = LoadReport();
  report.trace.reset();
  const std::vector<KernelLoad> loads = KernelLoads(report);
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_EQ(loads[0].bytes_read, 2160);
  EXPECT_EQ(loads[0].cycles, 0);
  EXPECT_EQ(loads[0].limit, Limit::kUnknown);
  report.traffic.reset();
  EXPECT_TRUE(KernelLoads(report).empty());
}

// Five images in twos are three runs of the program.
TEST(KernelLoads, AProgramOfSeveralImagesMovesWholeRuns) {
  RunReport report = LoadReport();
  report.trace->images = 5;
  report.traffic->images = 2;
  const std::vector<KernelLoad> loads = KernelLoads(report);
  EXPECT_EQ(loads[0].bytes_read, 3 * 2160);
  EXPECT_EQ(loads[0].bytes_written, 3 * 1000);
}

TEST(KernelLoads, JsonAndTextHaveThem) {
  const nlohmann::json json = nlohmann::json::parse(ToJson(LoadReport()));
  EXPECT_EQ(json["ports"][2]["name"], "results");
  EXPECT_EQ(json["ports"][2]["direction"], "write");
  EXPECT_EQ(json["ports"][2]["bytes_per_cycle"], 4);
  EXPECT_EQ(json["kernels"][1]["bytes_read"], 1900);
  EXPECT_EQ(json["kernels"][1]["limit"], "bandwidth");
  EXPECT_EQ(json["kernels"][1]["port"], "inputs");
  EXPECT_DOUBLE_EQ(json["kernels"][1]["port_share"], 0.95);
  EXPECT_FALSE(json["kernels"][2].contains("limit"));
  EXPECT_THAT(ToText(LoadReport()),
              AllOf(HasSubstr("limited by"), HasSubstr("inputs 95.0 %"), HasSubstr("3,160")));
  RunReport without = LoadReport();
  without.traffic.reset();
  EXPECT_THAT(ToText(without), Not(HasSubstr("limited by")));
  EXPECT_TRUE(nlohmann::json::parse(ToJson(without))["ports"].empty());
}

// The x axis is 0.01 to 10^2 operations a byte: pool has 64 / 1,900. The y axis is 0.1 to 10^2
// operations a cycle: pool has 64 / 500, and the peak is 32.
TEST(Roofline, PointsLieWhereTheFiguresSay) {
  const std::string page = ToHtml(LoadReport());
  EXPECT_EQ(WellFormedFault(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("What limits the kernels"),
                          HasSubstr("peak: 32 operations a cycle"), HasSubstr("inputs: 4 B/cycle"),
                          HasSubstr("weights: 8 B/cycle"), Not(HasSubstr("results: 4"))));
  // conv: log10(20) = 1.30103 of the decades -2 to 2 between 74 and 1040; log10(16) = 1.20412 of
  // -1 to 2 between 368 and 20.
  EXPECT_THAT(page, HasSubstr(R"(cx="871.2" cy="112.3")"));
  EXPECT_THAT(page, Not(HasSubstr("all kernels together")));
  RunReport bare = LoadReport();
  bare.trace.reset();
  EXPECT_THAT(ToHtml(bare), Not(HasSubstr("class=\"roof\"")));
  EXPECT_EQ(WellFormedFault(ToHtml(bare)), "");
}

// 40,000 + 64 + 12,000 operations and 3,160 + 1,964 + 744 bytes of the accelerator's kernels in
// 4,000 cycles: log10(8.8725) = 0.94805 and log10(13.016) = 1.11448 on the axes above.
TEST(Roofline, TheWholeNetworkLiesUnderTheRoofOfItsMemory) {
  RunReport report = LoadReport();
  report.traffic->PutBehindMemory(16);
  const std::string page = ToHtml(report);
  EXPECT_EQ(WellFormedFault(page), "");
  EXPECT_THAT(page, HasSubstr("memory: 16 B/cycle"));
  EXPECT_THAT(page, HasSubstr(R"(<circle class="network" cx="786.0" cy="122.7" r="13">)"));
  EXPECT_THAT(page, HasSubstr("all kernels together: 8.87 operations a byte of memory, 13 a cycle, "
                              "4,000 cycles"));
}

// A kernel that runs beside others to its end adds its bytes, but no cycles.
TEST(Roofline, KernelsWithoutCyclesOfTheirOwnCount) {
  RunReport report = LoadReport();
  report.traffic->PutBehindMemory(16);
  report.trace->kernels[1].end = report.trace->kernels[0].end;
  ASSERT_EQ(KernelLoads(report)[1].cycles, 0);
  EXPECT_THAT(ToHtml(report), HasSubstr("all kernels together: 8.87 operations a byte of memory"));
}

// On a pipeline, the stages' work of an image is done in the cycles between images.
TEST(Roofline, StagesOfAPipelineShareTheirCycles) {
  RunReport report = LoadReport();
  report.traffic->PutBehindMemory(16);
  report.interval_cycles = 2603;
  EXPECT_THAT(ToHtml(report), HasSubstr("8.87 operations a byte of memory, 20 a cycle, 2,603"));
}

TEST(Roofline, ManyPortsOfOneBandwidthAreCounted) {
  RunReport report = LoadReport();
  std::vector<MemoryPort> ports;
  for (int p = 0; p < 4; ++p)
    ports.push_back({.name = "stream" + std::to_string(p), .bytes_per_cycle = 4});
  report.traffic = Traffic::For(ports, report.kernels.size());
  report.kernels.resize(5, report.kernels[0]);
  report.traffic->bytes = {{9, 0, 0, 0}, {0, 9, 0, 0}, {0, 0, 0, 0}, {0, 0, 9, 0}};
  EXPECT_THAT(ToHtml(report), HasSubstr("stream0, stream1, stream2: 4 B/cycle"));
  report.kernels[2].host_reason.clear();
  report.trace->kernels.push_back({.kernel = 2, .begin = 4000, .end = 4100});
  report.traffic->bytes[2] = {0, 0, 0, 9};
  EXPECT_THAT(ToHtml(report), HasSubstr("stream0 and 3 more: 4 B/cycle"));
}

}  // namespace
}  // namespace kiln
