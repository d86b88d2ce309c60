// The C driver on the simulated machine: it runs a network and gets the memory of the functional
// level; its counters are those of the cycle level; errors and timeouts are return codes. The
// register map: the list in the documents, and the addresses that the hardware answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/register_map.h"
#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/emit/driver.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/isa/registers.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "kiln/targets/systolic/simulate/run_steps.h"
#include "rtl/testbench/kiln_systolic_registers.h"
#include "tests/targets/driver_run.h"
#include "tests/targets/register_checks.h"
#include "tests/targets/systolic/compiled.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

constexpr const char* kNetwork = R"(graph "pool" {
  input %image : f32[1x5x7x7]
  %1 = average_pool %image {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]} "pool" : f32[1x5x4x4]
  %2 = relu %1 "relu" : f32[1x5x4x4]
  output %2
}
)";

Config TinyPoint() {
  const auto text = ReadFile("tests/targets/conformance/systolic-tiny.yaml");
  EXPECT_TRUE(text.ok()) << text.status();
  auto config = ParseConfig(text.value_or(""), "systolic-tiny.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

// The steps of one image: before each program the memory that it reads, after it all bytes of the
// memory.
StatusOr<hardware::SampleRun> SampleOf(const SystolicProgram& program, const Batch& batch) {
  KILN_ASSIGN_OR_RETURN(
      const std::unique_ptr<FunctionalMachine> machine,
      FunctionalMachine::Create(program.config(), program.instructions(), program.memory_top(),
                                program.constants_base(), program.constants()));
  const ProgramImage image = ProgramImageOf(program);
  hardware::SampleRun sample;
  const StepRunner run = [&](int64_t, const Step& step, size_t number,
                             std::span<uint8_t> memory) -> StatusOr<Trace> {
    sample.Write(0, memory);
    sample.Run(std::span(&image.addresses[number], 1));
    machine->Run(step.begin, step.end, false, memory);
    const auto bytes = std::ssize(memory);
    sample.Expect({.name = "memory",
                   .axes = hardware::AxesOf(std::vector<int64_t>{bytes}, std::vector<int64_t>{8})},
                  memory);
    return Trace{};
  };
  KILN_RETURN_IF_ERROR(RunSteps(program, batch, {}, Level::kFunctional, run).status());
  return sample;
}

class SystolicDriver : public testing::Test {
 protected:
  void SetUp() override {
    auto graph = ParseGraph(kNetwork, "net.kir");
    ASSERT_TRUE(graph.ok()) << graph.status();
    Random random(3);
    Tensor image(ElementType::kFloat32, graph->inputs()[0]->shape());
    for (float& x : image.data<float>()) x = static_cast<float>(random.Uniform(-1, 1));
    batch_.inputs = {image};
    const auto prepared = Prepare(*std::move(graph), {{image}});
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    auto program = CompileFor(*prepared, TinyPoint(), /*host_fallback=*/false);
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    const auto sample = SampleOf(*program_, batch_);
    ASSERT_TRUE(sample.ok()) << sample.status();
    auto project = DesignProject(*program_);
    ASSERT_TRUE(project.ok()) << project.status();
    AddDriverTo(*program_, *sample, &*project);
    for (auto& file : sample->Files()) project->others.push_back(std::move(file));
    ASSERT_EQ(hardware::WriteRtlProject(*project, folder_.path()), OkStatus());
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-driver");
  Batch batch_;
  std::unique_ptr<SystolicProgram> program_;
};

TEST_F(SystolicDriver, RunsANetworkOnTheSimulatedMachine) {
  const auto run = RunDriver(folder_.path());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->verdict, "PASS") << run->text;
  RunOptions options;
  options.level = Level::kCycle;
  const auto cycle = RunCycle(*program_, batch_, options);
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_EQ(run->cycles, static_cast<uint64_t>(cycle->trace.cycles));
  for (const UnitTrace& unit : cycle->trace.units) {
    const auto counter = [&](const std::string& name) {
      const auto at = run->counters.find(unit.name + "." + name);
      EXPECT_NE(at, run->counters.end()) << unit.name << "." << name;
      return at == run->counters.end() ? -1 : static_cast<int64_t>(at->second);
    };
    EXPECT_EQ(counter("busy"), unit.busy_cycles) << unit.name;
    EXPECT_EQ(counter("bytes_read"), unit.bytes_read) << unit.name;
    EXPECT_EQ(counter("bytes_written"), unit.bytes_written) << unit.name;
    for (const auto& [cause, cycles] : unit.stall_cycles) {
      std::string name = "waits_" + cause;
      std::ranges::replace(name, ' ', '_');
      EXPECT_EQ(counter(name), cycles) << unit.name;
    }
  }

  // A wrong byte of the expected memory is found.
  const auto file = folder_.path() / "sample/expected0.bin";
  std::string expected = *ReadFile(file);
  expected.back() = static_cast<char>(expected.back() ^ 1);
  ASSERT_TRUE(WriteFile(file, expected).ok());
  EXPECT_THAT(MessageOf(RunDriver(folder_.path()).status()), HasSubstr("difference in memory"));

  hardware::ExpectAnsweredAddresses(Registers(), folder_.path());
  EXPECT_EQ(hardware::RunC("tests/targets/systolic/driver/driver_errors.c", folder_.path(), true),
            "");
}

// The programs for Linux and the objects for bare metal compile without a warning, too.
TEST_F(SystolicDriver, CompilesForEveryPlatform) {
  const auto driver = folder_.path() / "driver";
  const Status made = RunProgram(
      {"make", "-s", "-C", driver.string(), "linux", "bare", "CC=gcc",
       "CFLAGS=-O1 -DKILN_REGISTERS_ADDRESS=0x40000000 -DKILN_MEMORY_ADDRESS=0x80000000"},
      folder_.path() / "driver.log");
  EXPECT_TRUE(made.ok()) << made;
  EXPECT_TRUE(std::filesystem::exists(driver / "build/main_linux"));
  EXPECT_TRUE(std::filesystem::exists(driver / "build/bare/kiln_platform_bare.o"));

  // The addresses may be variables of make; without them make says what to give.
  std::filesystem::remove_all(driver / "build/bare");
  const Status named = RunProgram({"make", "-s", "-C", driver.string(), "bare", "CC=gcc",
                                   "REGISTERS=0x40000000", "MEMORY=0x80000000"},
                                  folder_.path() / "driver.log");
  EXPECT_TRUE(named.ok()) << named;
  EXPECT_TRUE(std::filesystem::exists(driver / "build/bare/kiln_platform_bare.o"));
  const Status without =
      RunProgram({"make", "-s", "-C", driver.string(), "bare", "CC=gcc", "REGISTERS=0x40000000"},
                 folder_.path() / "driver.log");
  EXPECT_FALSE(without.ok());
  EXPECT_THAT(*ReadFile(folder_.path() / "driver.log"),
              HasSubstr("make bare REGISTERS=0x40000000 MEMORY=0x80000000"));
}

TEST(SystolicRegisters, AreThoseOfTheDocuments) { hardware::ExpectInDocument(Registers()); }

// `make sim` prints the counters by the names of the map, by which the driver prints them.
TEST(SystolicRegisters, CountersHaveTheNamesOfTheTestbench) {
  std::vector<std::pair<std::string, uint32_t>> printed, described;
  for (uint32_t u = 0; u < std::size(testbench::systolic::kUnits); ++u) {
    const testbench::systolic::UnitNames& unit = testbench::systolic::kUnits[u];
    for (uint32_t k = 0; k < testbench::systolic::kUnitCounters; ++k) {
      const char* const name = testbench::systolic::CounterName(unit, k);
      if (name == nullptr) continue;
      printed.emplace_back(std::string(unit.name) + "." + name,
                           testbench::systolic::CounterAddress(u, k));
    }
  }
  for (const hardware::CounterRegister& counter : Registers().counters)
    described.emplace_back(counter.name, counter.address);
  EXPECT_EQ(printed, described);
}

TEST(SystolicRegisters, AreThoseOfThePackage) {
  hardware::ExpectConstants(Registers(), "kiln_control_pkg",
                            {{"STATUS", "BUSY", "STATUS_BUSY"},
                             {"STATUS", "DONE", "STATUS_DONE"},
                             {"STATUS", "ERROR", "STATUS_ERROR"},
                             {"CONTROL", "START", "CONTROL_START"},
                             {"CONTROL", "STOP", "CONTROL_STOP"},
                             {"INTERRUPT_STATUS", "DONE", "INTERRUPT_DONE"},
                             {"INTERRUPT_STATUS", "ERROR", "INTERRUPT_ERROR"},
                             {"INTERRUPT_ENABLE", "DONE", "INTERRUPT_DONE"},
                             {"INTERRUPT_ENABLE", "ERROR", "INTERRUPT_ERROR"}},
                            "ERROR_");
}

}  // namespace
}  // namespace kiln::systolic
