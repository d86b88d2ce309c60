// Machines on whole tensors: which values kernels read and outputs have, and how traces of kernels
// become the trace of a run.
#include "kiln/targets/run/tensor_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/text.h"
#include "kiln/support/status.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "double" and "sum" run on the machine, "negate" on the host.
constexpr char kTensorNetwork[] =
    "graph \"net\" { input %x : f32[1x1x2] quant int8 per_tensor symmetric scale=[0.5]\n"
    "const %c : f32[1x1x2] quant int8 per_tensor symmetric scale=[0.5] = [0.5, 1.2]\n"
    "%d = add %x, %x \"double\" : f32[1x1x2] quant int8 per_tensor symmetric scale=[0.5]\n"
    "%r = transpose %d {perm=[0, 2, 1]} \"turn\" : f32[1x2x1] quant int8 per_tensor symmetric "
    "scale=[0.5]\n"
    "%n = neg %r \"negate\" : f32[1x2x1] quant int8 per_tensor symmetric scale=[0.5]\n"
    "%s = add %d, %c \"sum\" : f32[1x1x2]\n"
    "output %n\n output %s\n output %d }";

// The last kernel sets no value.
class FourKernelProgram final : public Program {
 public:
  explicit FourKernelProgram(bool on_machine) {
    for (const char* name : {"double", "sum", "negate", "last"}) {
      KernelInfo& kernel = kernels_.emplace_back();
      kernel.name = name;
      if (!on_machine || kernel.name == "negate") kernel.host_reason = "why not";
    }
  }
  std::string Print() const override { return "fake"; }
};

// Of a kernel that took 10 cycles, with a unit that was busy for all of them.
Trace TenCycles() {
  Trace trace;
  trace.cycles = 10;
  trace.units.resize(1);
  trace.units[0].busy_cycles = 10;
  trace.spans = {{.unit = 0, .kernel = 99, .begin = 0, .end = 10}};
  return trace;
}

struct Network {
  Network() : graph(*ParseGraph(kTensorNetwork, "net.kir")) {
    hosts.resize(4);
    for (const auto& node : graph.nodes()) {
      if (node->name() != "negate") continue;
      const Node* const own = node.get();
      hosts[2] = CopyForHost(graph, {&own, 1});
    }
    const Value* const doubled = ValueOf("d");
    views.push_back({.value = ValueOf("r"), .from = doubled, .derive = [](const Tensor& tensor) {
                       return tensor.Reshaped(Shape{1, 2, 1});
                     }});
  }
  const Value* ValueOf(const std::string& name) const {
    for (const Value* value : graph.Values()) {
      if (value->name() == name) return value;
    }
    return nullptr;
  }
  Graph graph;
  std::vector<std::optional<HostGraph>> hosts;
  std::vector<DerivedValue> views;
};

class TwoNumberMachine final : public TensorMachine {
 public:
  TwoNumberMachine(const Network& network, std::vector<int64_t>* begins, Waveform* found = nullptr)
      : TensorMachine(network.graph, HostsOf(network.hosts), network.views),
        network_(network),
        begins_(*begins),
        found_(found) {}

 protected:
  StatusOr<Trace> RunKernel(size_t k) override {
    const KernelPlace place = PlaceOf(k);
    EXPECT_EQ(place.kernel, static_cast<int>(k));
    begins_.push_back(place.begin);
    if (k == 0) {
      const auto codes = CodesOf(network_.ValueOf("x")).ToInts();
      std::vector<int8_t> doubled;
      for (const int64_t code : codes) doubled.push_back(static_cast<int8_t>(2 * code));
      SetCodes(network_.ValueOf("d"), Tensor::Of<int8_t>({1, 1, 2}, doubled));
    } else if (k == 1) {
      // The constant is rounded: 1.2 has the code 2.
      const auto a = CodesOf(network_.ValueOf("d")).ToInts(),
                 b = CodesOf(network_.ValueOf("c")).ToInts();
      std::vector<float> numbers;
      std::vector<int32_t> sums;
      for (size_t i = 0; i < a.size(); ++i) {
        sums.push_back(static_cast<int32_t>(a[i] + b[i]));
        numbers.push_back(0.5f * static_cast<float>(sums.back()));
      }
      SetNumbers(network_.ValueOf("s"), Tensor::Of<float>({1, 1, 2}, numbers),
                 Tensor::Of<int32_t>({1, 1, 2}, sums));
      if (found_ != nullptr) {
        *found_ = {.recorded = true, .kernel = place.kernel, .begin = place.begin, .end = 7};
        return absl::CancelledError("recorded");
      }
    }
    return TenCycles();
  }

 private:
  const Network& network_;
  std::vector<int64_t>& begins_;
  Waveform* const found_;
};

Batch OneImage() { return {{Tensor::Of<float>({1, 1, 2}, {1.5, -2})}}; }

TEST(TensorMachine, KernelsReadAndSetValues) {
  const Network network;
  std::vector<int64_t> begins;
  RunOptions options;
  options.level = Level::kCycle;
  int prepared = 0;
  const auto result = RunOnTensorMachines(
      FourKernelProgram(true), network.graph, OneImage(), options,
      [&] {
        ++prepared;
        return OkStatus();
      },
      [&](const RtlOptions&) { return std::make_unique<TwoNumberMachine>(network, &begins); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(prepared, 1);
  // The host negates a view of what the machine wrote.
  EXPECT_EQ(result->outputs[0], Tensor::Of<float>({1, 2, 1}, {-3, 4}));
  EXPECT_EQ(result->codes[0], Tensor::Of<int8_t>({1, 2, 1}, {-6, 8}));
  // A value without annotation has the machine's sums as codes.
  EXPECT_EQ(result->outputs[1], Tensor::Of<float>({1, 1, 2}, {3.5, -3}));
  EXPECT_EQ(result->codes[1], Tensor::Of<int32_t>({1, 1, 2}, {7, -6}));
  EXPECT_EQ(result->outputs[2], Tensor::Of<float>({1, 1, 2}, {3, -4}));
  EXPECT_EQ(result->codes[2], Tensor::Of<int8_t>({1, 1, 2}, {6, -8}));
  // The host's kernel ends the first sequence of the machine's.
  EXPECT_THAT(begins, ElementsAre(0, 10, 0));
  const Trace& trace = result->trace;
  EXPECT_EQ(trace.cycles, 30);
  ASSERT_EQ(trace.kernels.size(), 3u);
  EXPECT_EQ(trace.kernels[2].kernel, 3);
  EXPECT_EQ(trace.kernels[2].begin, 20);
  ASSERT_EQ(trace.spans.size(), 3u);
  EXPECT_EQ(trace.spans[0].kernel, 0);
  EXPECT_EQ(trace.spans[2].kernel, 3);
  EXPECT_EQ(trace.spans[2].begin, 20);
  EXPECT_EQ(trace.units[0].busy_cycles, 30);
}

TEST(TensorMachine, PreparesNothingForTheHostAlone) {
  const Network network;
  std::vector<int64_t> begins;
  const auto result = RunOnTensorMachines(
      FourKernelProgram(false), network.graph, OneImage(), {},
      [] { return absl::InternalError("prepared"); },
      [&](const RtlOptions&) { return std::make_unique<TwoNumberMachine>(network, &begins); });
  EXPECT_TRUE(result.ok()) << result.status();
}

TEST(TensorMachine, RecordsTheDifferenceThatAMachineFinds) {
  const Network network;
  std::vector<int64_t> begins;
  const auto found = RecordOnTensorMachine(
      FourKernelProgram(true), network.graph, OneImage(),
      [&](Waveform* own) { return std::make_unique<TwoNumberMachine>(network, &begins, own); });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->recorded);
  EXPECT_EQ(found->kernel, 1);
  EXPECT_EQ(found->end, 7);
  const auto none = RecordOnTensorMachine(
      FourKernelProgram(true), network.graph, OneImage(),
      [&](Waveform*) { return std::make_unique<TwoNumberMachine>(network, &begins); });
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->recorded);
  // Errors of the run that come before a difference are errors.
  const auto wrong = RecordOnTensorMachine(
      FourKernelProgram(true), network.graph, {{Tensor::Of<float>({1, 3}, {1, 2, 3})}},
      [&](Waveform*) { return std::make_unique<TwoNumberMachine>(network, &begins); });
  EXPECT_THAT(MessageOf(wrong.status()), HasSubstr("has shape"));
}

}  // namespace
}  // namespace kiln
