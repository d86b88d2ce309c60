// The agreement of the hardware with the other levels, of every family: the emitted design of the
// family's smallest design point, simulated by Verilator, on the cases of the suite and on random
// graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kiln/ir/batch_shape.h"
#include "kiln/ir/random_graph.h"
#include "kiln/support/process.h"
#include "kiln/targets/interface/accelerator.h"
#include "tests/targets/conformance/cases.h"
#include "tests/targets/conformance/conformance.h"
#include "tests/targets/conformance/prepare.h"

namespace kiln::conformance {
namespace {

constexpr int64_t kMostCycles = 4000;

// A compiled network with what the cycle level makes of one image.
struct Network {
  std::string name;
  std::unique_ptr<Program> program;
  Batch batch;
  RunResult cycle;
};

bool UsesTheMachine(const Program& program) {
  return std::ranges::any_of(program.kernels(),
                             [](const KernelInfo& kernel) { return !kernel.on_host(); });
}

RtlOptions Seed(uint64_t seed) {
  RtlOptions options;
  options.seed = seed;
  return options;
}

class EveryFamilysHardware : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const Family& family : Families()) {
      if (family.name == GetParam()) family_ = &family;
    }
    ASSERT_NE(family_, nullptr);
    point_ = family_->rtl_design_point;
    accelerator_ = Load(point_);
    ASSERT_NE(accelerator_, nullptr);
  }

  // Adds the graph with one image, unless all of it runs on the host, its images cannot be joined,
  // or its simulation takes long.
  void Add(std::string name, Graph graph, uint64_t seed) {
    const auto one_image = [](const Value* output) {
      return output->shape().rank() > 0 && output->shape()[0] == 1;
    };
    if (!std::ranges::all_of(graph.outputs(), one_image)) return;
    Prepared prepared = Prepare(std::move(graph), seed, *family_, DesignPoint(point_.c_str()));
    auto program = accelerator_->Compile(prepared.quantised, {});
    ASSERT_TRUE(program.ok()) << name << ": " << program.status();
    if (!UsesTheMachine(**program)) return;
    for (Tensor& input : prepared.batch.inputs) {
      std::vector<int64_t> dims = input.shape().dims();
      dims[0] = 1;
      Tensor first(input.type(), Shape(dims));
      SetSample(SampleOf(input, Shape(dims), 0), 0, &first);
      input = std::move(first);
    }
    auto cycle = RunAt(*accelerator_, **program, prepared.batch, Level::kCycle, 1);
    ASSERT_TRUE(cycle.ok()) << name << ": " << cycle.status();
    if (cycle->trace.cycles > kMostCycles) return;
    networks_.push_back(
        {std::move(name), *std::move(program), std::move(prepared.batch), *std::move(cycle)});
  }

  StatusOr<RunResult> Simulate(const Network& network, const RtlOptions& rtl) {
    RunOptions options;
    options.level = Level::kRtl;
    options.rtl = rtl;
    options.rtl.folder = folder_.path();  // one simulation serves all runs
    return accelerator_->Run(*network.program, network.batch, options);
  }

  // Returns the cycles in which a DRAM moves the bytes that the family counts for a run; 0 for
  // other memories.
  double LeastCycles(const Network& network, const RtlOptions& rtl) {
    if (rtl.dram_bytes_per_cycle == 0) return 0;
    const auto traffic = accelerator_->EstimateTraffic(*network.program);
    EXPECT_TRUE(traffic.ok()) << traffic.status();
    if (!traffic.ok()) return 0;
    int64_t bytes = 0;
    for (size_t k = 0; k < traffic->bytes.size(); ++k) bytes += traffic->Bytes(k);
    return static_cast<double>(bytes) / rtl.dram_bytes_per_cycle;
  }

  // The same bits as at the cycle level and, behind memories that it simulates, the same time of
  // every kernel.
  void Compare(const Network& network, const RtlOptions& rtl) {
    SCOPED_TRACE(network.name);
    const auto result = Simulate(network, rtl);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->codes == network.cycle.codes) << network.program->Print();
    EXPECT_TRUE(result->outputs == network.cycle.outputs);
    if (!rtl.steady_memory()) {
      for (size_t i = 0; i < result->cycles_per_image.size(); ++i) {
        EXPECT_GE(result->cycles_per_image[i], network.cycle.cycles_per_image[i]);
        EXPECT_GE(static_cast<double>(result->cycles_per_image[i]), LeastCycles(network, rtl));
      }
      if (!accelerator_->UntimedReason(rtl).empty()) return;
      RunOptions options;
      options.level = Level::kCycle;
      options.rtl = rtl;
      const auto cycle = accelerator_->Run(*network.program, network.batch, options);
      ASSERT_TRUE(cycle.ok()) << cycle.status();
      return CompareTimes(*result, *cycle);
    }
    CompareTimes(*result, network.cycle);
  }

  static void CompareTimes(const RunResult& result, const RunResult& cycle) {
    EXPECT_EQ(result.cycles_per_image, cycle.cycles_per_image);
    const Trace &is = result.trace, &should = cycle.trace;
    ASSERT_EQ(is.kernels.size(), should.kernels.size());
    for (size_t k = 0; k < is.kernels.size(); ++k) {
      EXPECT_EQ(is.kernels[k].kernel, should.kernels[k].kernel);
      EXPECT_EQ(is.kernels[k].begin, should.kernels[k].begin) << "kernel " << k;
      EXPECT_EQ(is.kernels[k].end, should.kernels[k].end) << "kernel " << k;
    }
  }

  const Family* family_ = nullptr;
  std::string point_;
  std::unique_ptr<Accelerator> accelerator_;
  TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-conformance");
  std::vector<Network> networks_;
};

TEST_P(EveryFamilysHardware, HasTheBitsAndCyclesOfTheCycleLevel) {
  size_t number = 0;
  for (const Case& c : AllCases()) {
    if (number++ % family_->simulates_one_in == 0) Add(c.name, c.build(), 11);
  }
  const size_t cases = networks_.size();
  EXPECT_GE(cases, 3u);
  const size_t graphs = family_->simulates_one_in == 1 ? 5 : 2;
  for (uint64_t seed = 0; networks_.size() < cases + graphs && seed < 200; ++seed) {
    Add("random graph " + std::to_string(seed), RandomGraph(seed), seed);
  }
  EXPECT_EQ(networks_.size(), cases + graphs);
  for (const Network& network : networks_) {
    Compare(network, Seed(1));
    if (HasFailure()) return;
  }
  // With other contents of registers at power-up; behind channels that stall at random, and DRAMs
  // that all ports share.
  for (size_t i = 0; i < networks_.size(); i += 8) {
    const Network& network = networks_[i];
    for (uint64_t seed = 2; seed < 5; ++seed) Compare(network, Seed(seed));
    for (uint64_t seed = 1; seed < 4; ++seed) {
      RtlOptions stalls = Seed(seed);
      stalls.stall_probability = 0.15 * static_cast<double>(seed);
      Compare(network, stalls);
    }
    RtlOptions dram = Seed(1), slow = Seed(1);
    dram.dram_bytes_per_cycle = 2.5;
    dram.dram_row_miss = 12;
    slow.dram_bytes_per_cycle = 0.4;
    slow.memory_latency = 70;
    if (family_->has_memory) Compare(network, dram);
    if (family_->has_memory) Compare(network, slow);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, EveryFamilysHardware, testing::ValuesIn(NamesOfFamilies()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::conformance
