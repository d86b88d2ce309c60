// The C driver on the simulated machine: it runs a network as the runtime's device does, and gets
// the bytes of the functional level; a fault is a return code. The register map: the list in the
// documents, and the addresses that the hardware answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/shape_inference.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "kiln/targets/vta/emit/driver.h"
#include "kiln/targets/vta/emit/emit.h"
#include "kiln/targets/vta/isa/registers.h"
#include "kiln/targets/vta/run/network_run.h"
#include "tests/targets/driver_run.h"
#include "tests/targets/register_checks.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

using testing::HasSubstr;

// A device at the functional level that records what it is asked to do as the steps of a sample.
class RecordingDevice final : public Device {
 public:
  RecordingDevice(const Config& config, hardware::SampleRun* sample)
      : device_(MakeFunctionalDevice(config)), sample_(*sample) {}
  const Config& config() const override { return device_->config(); }
  StatusOr<uint64_t> Allocate(uint64_t bytes) override { return device_->Allocate(bytes); }
  Status Free(uint64_t address) override { return device_->Free(address); }
  Status Write(uint64_t address, std::span<const uint8_t> bytes) override {
    // The first write is the program's image, which the emitted folder has.
    if (std::exchange(has_image_, true)) sample_.Write(address, bytes);
    return device_->Write(address, bytes);
  }
  Status Read(uint64_t address, std::span<uint8_t> bytes) override {
    KILN_RETURN_IF_ERROR(device_->Read(address, bytes));
    const auto size = std::ssize(bytes);
    hardware::PlacedTensor tensor;
    tensor.name = "map";
    tensor.base = address;
    tensor.axes = hardware::AxesOf(std::vector<int64_t>{size}, std::vector<int64_t>{8});
    sample_.Expect(tensor, bytes);
    return OkStatus();
  }
  uint8_t* HostPointer(uint64_t address) override { return device_->HostPointer(address); }
  Status Run(uint64_t address, size_t count, uint64_t wait_cycles) override {
    sample_.Run(std::array<uint64_t, 2>{address, count});
    return device_->Run(address, count, wait_cycles);
  }

 private:
  std::unique_ptr<Device> device_;
  hardware::SampleRun& sample_;
  bool has_image_ = false;
};

// A convolution with ReLU and a dense layer.
Graph Network() {
  Graph graph("network");
  Random random(8);
  const auto weights = [&](const std::string& name, Shape shape) {
    Tensor t(ElementType::kFloat32, std::move(shape));
    for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-0.2, 0.2));
    return graph.AddConstant(name, t);
  };
  const auto add = [&](Op op, const std::string& name, std::vector<Value*> operands,
                       const Attributes& attributes = {}) {
    return graph.AddNode(op, name, std::move(operands), {name + "_y"}, attributes)->result();
  };
  Attributes same;
  same.Set("kernel_shape", std::vector<int64_t>{3, 3});
  same.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2, 4, 4}});
  Value* y =
      add(Op::kRelu, "relu", {add(Op::kConv, "conv", {x, weights("w1", {4, 2, 3, 3})}, same)});
  y = add(Op::kFlatten, "flat", {add(Op::kGlobalAveragePool, "mean", {y})});
  graph.MarkOutput(add(Op::kMatMul, "dense", {y, weights("w2", {4, 6})}));
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

TEST(VtaDriver, RunsANetworkOnTheSimulatedMachine) {
  const auto text = ReadFile("tests/targets/conformance/vta-tiny.yaml");
  ASSERT_TRUE(text.ok()) << text.status();
  const auto config = ParseConfigOfFile(*text, "vta-tiny.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const Graph graph = Network();
  const Batch images = RandomImages(graph, 1, 2);
  const VtaAccelerator accelerator(*config);
  const auto program = accelerator.Compile(Prepare(graph.Clone(), images, Int8Recipe()), {});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto& compiled = dynamic_cast<const VtaProgram&>(**program);

  hardware::SampleRun sample;
  auto device = std::make_shared<RecordingDevice>(*config, &sample);
  ASSERT_EQ(LoadProgram(compiled.parts(), device.get()), OkStatus());
  NetworkRun run(compiled.parts(), device, 1, {});
  run.Begin({.first = 0, .count = 1});
  ASSERT_EQ(run.Load(0, 0, images.inputs[0]), OkStatus());
  ASSERT_TRUE(run.Run().ok());

  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-driver");
  hardware::RtlProject project = MachineProject(*config);
  AddDriverTo(LaunchesOf(compiled), sample, &project);
  for (auto& file : sample.Files()) project.others.push_back(std::move(file));
  ASSERT_EQ(hardware::WriteRtlProject(project, folder.path()), OkStatus());
  const auto driven = RunDriver(folder.path());
  ASSERT_TRUE(driven.ok()) << driven.status();
  EXPECT_EQ(driven->verdict, "PASS") << driven->text;

  // Cycles and counters of all launches together are those of the cycle level.
  RunOptions options;
  options.level = Level::kCycle;
  const auto cycle = accelerator.Run(**program, images, options);
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_EQ(driven->cycles, static_cast<uint64_t>(cycle->trace.cycles));
  for (const UnitTrace& unit : cycle->trace.units) {
    if (unit.name != "gemm") continue;
    EXPECT_EQ(driven->counters.at("gemm.steps"), static_cast<uint64_t>(unit.busy_cycles));
  }
  EXPECT_GT(driven->counters.at("gemm.steps"), 0u);

  hardware::ExpectAnsweredAddresses(Registers(), folder.path());
  EXPECT_EQ(hardware::RunC("tests/targets/vta/driver/driver_errors.c", folder.path(), true), "");
}

TEST(VtaRegisters, AreThoseOfTheDocuments) { hardware::ExpectInDocument(Registers()); }

TEST(VtaRegisters, AreThoseOfThePackage) {
  hardware::ExpectConstants(
      Registers(), "kiln_vta_pkg",
      {{"CONTROL", "LAUNCH", "CONTROL_LAUNCH"}, {"CONTROL", "FINISHED", "CONTROL_FINISHED"}},
      "FAULT_");
}

}  // namespace
}  // namespace kiln::vta
