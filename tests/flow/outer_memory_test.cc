// Tests of the memory behind a machine: its text, its cycles, and the bound that it sets.
#include "kiln/flow/outer_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kiln/flow/flow.h"
#include "kiln/report/kernel_loads.h"
#include "kiln/report/performance.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/registry.h"
#include "tests/report/example_report.h"
#include "tests/targets/minimal/minimal.h"

namespace kiln {
namespace {

using testing::HasSubstr;

TEST(OuterMemory, BandwidthAndLatencyWithTheirUnits) {
  const auto expect = [](const char* text, double bytes, double seconds) {
    const auto memory = ParseOuterMemory(text);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_DOUBLE_EQ(memory->bytes_per_second, bytes) << text;
    EXPECT_DOUBLE_EQ(memory->seconds, seconds) << text;
    EXPECT_EQ(memory->text, text);
  };
  expect("19.2GB/s,100ns", 19.2e9, 100e-9);
  expect(" 800 MB/s , 0.25 us ", 800e6, 0.25e-6);
  expect("2GiB/s,0ns", 2147483648.0, 0);
  expect("1024KiB/s,1ms", 1 << 20, 1e-3);
  EXPECT_EQ(ParseOuterMemory("1GB/s,10ns")->row_miss_seconds, 0);
  const auto rows = ParseOuterMemory("19.2GB/s, 100ns, 30 ns");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_DOUBLE_EQ(rows->seconds, 100e-9);
  EXPECT_DOUBLE_EQ(rows->row_miss_seconds, 30e-9);
}

TEST(OuterMemory, OtherTextIsAnError) {
  for (const char* text : {"", "19.2GB/s", "19.2,100ns", "GB/s,100ns", "19.2GB/s,100", "1gb/s,1ns",
                           "0GB/s,1ns", "-1GB/s,1ns", "1GB/s,-1ns", "1GB/s,2ms", "999kB/s,1ns",
                           "nanGB/s,1ns", "1e3GB/s,1ns", "1GB/s,1ns,1", "1GB/s,1ns,-1ns",
                           "1GB/s,1ns,1001us", "1GB/s,1ns,1ns,1ns", "99999999TB/s,1ns"}) {
    const auto memory = ParseOuterMemory(text);
    ASSERT_FALSE(memory.ok()) << text;
    EXPECT_THAT(MessageOf(memory.status()), HasSubstr("--memory: '")) << text;
    EXPECT_THAT(MessageOf(memory.status()), HasSubstr("such as 19.2GB/s,100ns")) << text;
  }
}

TEST(OuterMemory, CyclesAreWhole) {
  const OuterMemory memory = *ParseOuterMemory("19.2GB/s,100ns");
  EXPECT_DOUBLE_EQ(MemoryAtClock(memory, 100).bytes_per_cycle, 192);
  EXPECT_EQ(MemoryAtClock(memory, 100).latency_cycles, 10);
  EXPECT_EQ(MemoryAtClock(memory, 101).latency_cycles, 11);
  EXPECT_EQ(MemoryAtClock(memory, 1).latency_cycles, 1);
  EXPECT_EQ(MemoryAtClock(*ParseOuterMemory("1GB/s,0ns"), 500).latency_cycles, 1);
  EXPECT_EQ(MemoryAtClock(memory, 100).row_miss_cycles, 0);
  EXPECT_EQ(MemoryAtClock(*ParseOuterMemory("1GB/s,0ns,31ns"), 100).row_miss_cycles, 4);
}

// ExampleReport has 4,000 cycles; conv takes 2,500 of them.
RunReport ReportWithTraffic() {
  RunReport report = ExampleReport();
  report.traffic = Traffic::For({{.name = "reads", .bytes_per_cycle = 8},
                                 {.name = "writes", .bytes_per_cycle = 8, .writes = true}},
                                report.kernels.size());
  report.traffic->bytes = {{4000, 1000}, {900, 100}, {0, 0}, {1500, 500}};
  return report;
}

// A machine with memory, whose figures are those of the test's reports.
std::unique_ptr<Accelerator> Machine(const std::string& name) {
  auto loaded = LoadAccelerator("accelerators/" + name + ".yaml");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *std::move(loaded);
}

TEST(OuterMemory, AllPortsShareIt) {
  for (const char* name : {"systolic-int8-16x16", "systolic-int8-8x8-one-bus",
                           "systolic-mxint8-16x16", "vta-default"}) {
    const auto machine = Machine(name);
    RunReport report = ReportWithTraffic();
    RtlOptions rtl;
    ASSERT_EQ(ApplyMemory(*ParseOuterMemory("100MB/s,20ns,30ns"), *machine, &report, &rtl),
              OkStatus());
    ASSERT_TRUE(report.memory.has_value());
    // The clock is the machine's own.
    const double each = report.memory->bytes_per_cycle;
    EXPECT_DOUBLE_EQ(each, 100 / report.memory->mhz);
    EXPECT_DOUBLE_EQ(rtl.dram_bytes_per_cycle, each);
    EXPECT_EQ(rtl.memory_latency, static_cast<uint64_t>(report.memory->latency_cycles));
    EXPECT_EQ(rtl.dram_row_miss, static_cast<uint64_t>(report.memory->row_miss_cycles));
    EXPECT_GT(rtl.dram_row_miss, 0u);
    EXPECT_EQ(report.traffic->BytesRead(0), 4000) << "the shared port is not counted again";
    EXPECT_EQ(report.traffic->BytesWritten(0), 1000);
    EXPECT_EQ(MemoryCycles(report), static_cast<int64_t>(std::ceil(8000 / each)));
    EXPECT_EQ(PerformanceOf(report)->cycles, 4000) << "the run's own cycles";
    const std::vector<KernelLoad> loads = KernelLoads(report);
    EXPECT_EQ(report.traffic->ports[static_cast<size_t>(loads[0].port)].name, "memory");
    EXPECT_EQ(loads[0].port_bytes, 5000);
  }
}

// The adapted machine is one that was not synthesised, so that its clock is the design point's and
// not the slower one of the machine as given: the memory takes more cycles then.
TEST(OuterMemory, AdaptedMachinesHoldWhatTheirOwnClockAsksFor) {
  const StatusOr<std::string> text = ReadFile("accelerators/vta-pynq.yaml");
  ASSERT_TRUE(text.ok()) << text.status();
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-memory-test");
  const std::filesystem::path file = folder.path() / "fast.yaml";
  std::string yaml = *text;
  const std::string clock = "clock_mhz: 100";
  ASSERT_NE(yaml.find(clock), std::string::npos);
  yaml.replace(yaml.find(clock), clock.size(), "clock_mhz: 5000");
  ASSERT_TRUE(WriteFile(file, yaml).ok());
  auto loaded = LoadAccelerator(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::unique_ptr<Accelerator> machine = *std::move(loaded);
  const double given = machine->EstimateCost(kDefaultNode)->clock.mhz;
  ASSERT_LT(given, 5000);
  const OuterMemory memory = *ParseOuterMemory("4GB/s,500ns");
  CompileOptions compile;
  RunReport report = ReportWithTraffic();
  RtlOptions rtl;
  ASSERT_EQ(AdaptToMemory(memory, &compile, &machine, &report), OkStatus());
  ASSERT_EQ(ApplyMemory(memory, *machine, &report, &rtl), OkStatus());
  EXPECT_FALSE(machine->EstimateCost(kDefaultNode)->clock.known());
  EXPECT_EQ(rtl.memory_latency, 2500u);  // 500 ns at 5,000 MHz
  EXPECT_GE(machine->MostMemoryLatency(), rtl.memory_latency);
  EXPECT_DOUBLE_EQ(compile.memory_bytes_per_cycle, rtl.dram_bytes_per_cycle);
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("2500 cycles")));
}

// Streams of 64 bytes per beat read 6,400 bytes and write 1,600 through a bus of 16 bytes.
RunReport ReportWithStreams() {
  RunReport report = ExampleReport();
  report.traffic = Traffic::ForStreams(64, 16, report.kernels.size());
  report.traffic->bytes = {{4000, 1000}, {900, 100}, {0, 0}, {1500, 500}};
  return report;
}

// The DRAM moves all bytes; the bus moves reads and writes at the same time, 16 bytes each.
TEST(OuterMemory, StreamsShareABus) {
  const auto machine = Machine("se-4");
  const auto apply = [&](const char* memory) {
    RunReport report = ReportWithStreams();
    RtlOptions rtl;
    EXPECT_EQ(ApplyMemory(*ParseOuterMemory(memory), *machine, &report, &rtl), OkStatus());
    EXPECT_DOUBLE_EQ(report.memory->mhz, 100);
    return report;
  };
  const RunReport fast = apply("19.2GB/s,100ns");
  EXPECT_EQ(MemoryCycles(fast), 400) << "6,400 / 16";
  EXPECT_THAT(MemoryText(fast), HasSubstr("all streams share a bus of 16 B a cycle in each "
                                          "direction; they move the run's bytes in 400 cycles"));
  EXPECT_EQ(fast.traffic->BytesRead(0), 4000) << "shared ports are not counted again";
  EXPECT_EQ(fast.traffic->BytesWritten(0), 1000);
  const std::vector<KernelLoad> loads = KernelLoads(fast);
  EXPECT_EQ(fast.traffic->ports[static_cast<size_t>(loads[0].port)].name, "bus, reads");
  EXPECT_EQ(loads[0].port_bytes, 4000);
  EXPECT_DOUBLE_EQ(loads[0].port_share, 250.0 / 2500) << "4,000 / 16 of the kernel's cycles";
  const auto json = nlohmann::json::parse(ToJson(fast));
  EXPECT_EQ(json["outer_memory"]["least_cycles"], 400);
  std::vector<std::string> directions;
  for (const auto& port : json["ports"]) directions.push_back(port["direction"]);
  EXPECT_THAT(directions, testing::ElementsAre("read", "write", "read", "write", "both"));

  const RunReport slow = apply("100MB/s,100ns");
  EXPECT_EQ(MemoryCycles(slow), 8000) << "1 byte per cycle";
  EXPECT_EQ(slow.traffic->ports[static_cast<size_t>(KernelLoads(slow)[0].port)].name, "memory");
}

// Behind a memory that is much faster than the bus, a run of each family takes at least the cycles
// that the bus needs for its streams' bytes.
TEST(OuterMemory, RunsOnStreamsTakeTheCyclesOfTheBus) {
  for (const char* name : {"se-16", "binary-176", "dataflow-pynq"}) {
    SCOPED_TRACE(name);
    FlowOptions options;
    options.model = "models/demo_fashion_mnist.onnx";
    options.accelerator = std::string("accelerators/") + name + ".yaml";
    options.images.random = 1;
    options.memory = *ParseOuterMemory("900TB/s,1ns");
    const auto report = RunFlow(options);
    ASSERT_TRUE(report.ok()) << report.status();
    int64_t read = 0, written = 0;
    for (size_t k = 0; k < report->kernels.size(); ++k) {
      read += report->traffic->BytesRead(k);
      written += report->traffic->BytesWritten(k);
    }
    const int64_t least = (std::max(read, written) + 15) / 16;
    EXPECT_EQ(MemoryCycles(*report), least);
    ASSERT_EQ(report->cycles_per_image.size(), 1u);
    EXPECT_GE(report->cycles_per_image[0], least);
    if (std::string(name) == "se-16") {
      EXPECT_LT(static_cast<double>(report->cycles_per_image[0]), 1.05 * static_cast<double>(least))
          << "nearly all of its cycles";
    }
  }
}

TEST(OuterMemory, ALatencyOfZeroIsNotedAsOneCycle) {
  const auto machine = Machine("se-4");
  const auto notes = [&](const char* memory) {
    RunReport report = ReportWithStreams();
    report.notes.clear();
    RtlOptions rtl;
    EXPECT_EQ(ApplyMemory(*ParseOuterMemory(memory), *machine, &report, &rtl), OkStatus());
    EXPECT_EQ(rtl.memory_latency, 1u);
    return report.notes;
  };
  EXPECT_THAT(notes("1GB/s,0ns"), testing::ElementsAre(HasSubstr("0 in --memory is 1 cycle")));
  EXPECT_TRUE(notes("1GB/s,1ns").empty());
}

// Writes can need the most cycles.
TEST(OuterMemory, TheBusCarriesWritesBesideReads) {
  RunReport report = ReportWithStreams();
  report.traffic->bytes = {{160, 1600}, {0, 0}, {0, 0}, {16, 16}};
  report.traffic->PutBehindMemory(1000);
  report.memory =
      RunReport::Memory{.text = "", .mhz = 100, .bytes_per_cycle = 1000, .latency_cycles = 1};
  EXPECT_EQ(MemoryCycles(report), 101) << "1,616 / 16";
  EXPECT_EQ(report.traffic->ports[static_cast<size_t>(KernelLoads(report)[0].port)].name,
            "bus, writes");
}

TEST(OuterMemory, TheReportSaysInHowManyCyclesItMovesTheBytes) {
  RunReport report = ReportWithTraffic();
  report.memory =
      RunReport::Memory{.text = "memory", .mhz = 100, .bytes_per_cycle = 1, .latency_cycles = 10};
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["outer_memory"]["least_cycles"], 8000);
  EXPECT_TRUE(json["memory"].contains("constant_bytes")) << "another thing";
}

TEST(OuterMemory, PortsKeepRequestsInFlightForIt) {
  auto machine = Machine("systolic-int8-16x16");
  const std::string before = machine->Describe();
  RunReport report;
  CompileOptions compile;
  ASSERT_EQ(AdaptToMemory(*ParseOuterMemory("19.2GB/s,2ns"), &compile, &machine, &report),
            OkStatus());
  EXPECT_EQ(machine->Describe(), before);
  EXPECT_TRUE(report.notes.empty());
  EXPECT_DOUBLE_EQ(compile.memory_bytes_per_cycle, 38.4) << "at 500 MHz";
  ASSERT_EQ(AdaptToMemory(*ParseOuterMemory("19.2GB/s,100ns"), &compile, &machine, &report),
            OkStatus());
  EXPECT_EQ(machine->MostMemoryLatency(), 50) << "at 500 MHz";
  EXPECT_EQ(report.notes.size(), 1u);
  const Status beyond =
      AdaptToMemory(*ParseOuterMemory("19.2GB/s,1ms"), &compile, &machine, &report);
  EXPECT_EQ(MessageOf(beyond),
            "--memory: the latency in '19.2GB/s,1ms' is 500000 cycles at 500 MHz, too many for the "
            "ports of 'systolic-int8-16x16'; key 'memory_latency': 500002 is out of range; a whole "
            "number from 4 to 4096");
  auto streams = *minimal::Entry().parse("family: minimal\nname: m\n", "m");
  EXPECT_THAT(MessageOf(AdaptToMemory(*ParseOuterMemory("1GB/s,1ns"), &compile, &streams, &report)),
              HasSubstr("cannot be put behind a memory"));
}

// The readers and writers of stream machines stay as they are at any latency.
TEST(OuterMemory, StreamsAreReadFromIt) {
  for (const char* name : {"se-4", "binary-small", "dataflow-small"}) {
    auto machine = Machine(name);
    ASSERT_TRUE(machine->SimulatesMemory());
    const std::string before = machine->Describe();
    RunReport report;
    CompileOptions compile;
    ASSERT_EQ(AdaptToMemory(*ParseOuterMemory("1GB/s,1ms"), &compile, &machine, &report),
              OkStatus());
    EXPECT_EQ(machine->Describe(), before);
    EXPECT_TRUE(report.notes.empty());
    RtlOptions open, stalling;
    open.dram_bytes_per_cycle = 1;
    stalling.stall_probability = 0.5;
    EXPECT_EQ(machine->UntimedReason(open), "");
    EXPECT_NE(machine->UntimedReason(stalling), "");
  }
}

// Behind a slow memory, schedules that know of it take fewer cycles and bytes than those that do
// not, and the note about optimal tilings is not made of cycles alone. The bits are the same.
TEST(OuterMemory, SchedulesTakeItsBandwidthIntoAccount) {
  FlowOptions options;
  options.model = "models/demo_fashion_mnist.onnx";
  options.accelerator = "systolic-int8-16x16";
  options.images.random = 1;
  options.evaluate.cycle_limit = 1;
  options.memory = ParseOuterMemory("0.5GB/s,2ns").value();
  const auto with = RunFlow(options);
  ASSERT_TRUE(with.ok()) << with.status();
  // The same memory, 1 byte a cycle at 500 MHz, behind schedules that were chosen without it.
  options.memory.reset();
  options.evaluate.memory.dram_bytes_per_cycle = 1;
  options.evaluate.memory.memory_latency = 1;
  const auto without = RunFlow(options);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_LT(PerformanceOf(*with)->cycles, 0.9 * PerformanceOf(*without)->cycles);
  int64_t bytes[2] = {0, 0};
  for (size_t k = 0; k < with->kernels.size(); ++k) {
    bytes[0] += with->traffic->BytesRead(k) + with->traffic->BytesWritten(k);
    bytes[1] += without->traffic->BytesRead(k) + without->traffic->BytesWritten(k);
  }
  EXPECT_LT(bytes[0], bytes[1]);
  EXPECT_EQ(with->output_sqnr_db(), without->output_sqnr_db());
  bool named = false;
  for (const KernelInfo& kernel : with->kernels) {
    named = named || kernel.schedule.find(
                         "least estimated time behind the memory among its "
                         "tilings") != std::string::npos;
  }
  EXPECT_TRUE(named);
}

TEST(OuterMemory, NeedsAKernelOnTheAccelerator) {
  FlowOptions options;
  options.model = "models/demo_fashion_mnist.onnx";
  options.accelerator = "cgra-grid-4x4";
  options.images.random = 1;
  options.memory = ParseOuterMemory("1GB/s,10ns").value();
  const auto run = RunFlow(options);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(MessageOf(run.status()), HasSubstr("no bytes pass the memory of --memory"));
}

}  // namespace
}  // namespace kiln
