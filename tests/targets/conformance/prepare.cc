#include "tests/targets/conformance/prepare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kiln/execute/reference.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/registry.h"
#include "tests/targets/conformance/annotate.h"

namespace kiln::conformance {
namespace {

Batch RandomBatch(const Graph& graph, uint64_t seed) {
  Random random(seed);
  Batch batch;
  for (const Value* input : graph.inputs()) {
    std::vector<int64_t> dims = input->shape().dims();
    dims[0] = kImages;
    batch.inputs.push_back(RandomTensor(random, input->element(), Shape(dims), -2.0, 2.0));
  }
  return batch;
}

}  // namespace

RtlOptions DramOfSeed(uint64_t seed) {
  Random random(seed ^ 0xd7a3);
  RtlOptions memory;
  memory.seed = seed;
  // From 2 to 64 bytes a cycle. Below that, most of the simulated cycles are waits for the memory.
  memory.dram_bytes_per_cycle = std::exp2(5 * random.Uniform() + 1);
  memory.dram_row_miss = random.Below(40);
  memory.memory_latency = 1 + random.Below(120);
  return memory;
}

Prepared Prepare(Graph graph, uint64_t seed, const Family& family, const DesignPoint& point) {
  Prepared p;
  PassContext context;
  EXPECT_EQ(RunPasses(graph, StandardPipeline(), context), OkStatus());
  EXPECT_EQ(RunPasses(graph, LayoutPipeline(), context), OkStatus());
  p.batch = RandomBatch(graph, seed);
  auto data = std::make_unique<CalibrationData>(CalibrationData::Assumed());
  const bool batched = std::all_of(
      graph.outputs().begin(), graph.outputs().end(),
      [](const Value* output) { return output->shape().rank() > 0 && output->shape()[0] == 1; });
  if (batched) {
    auto executor = ReferenceExecutor::Create(graph);
    EXPECT_TRUE(executor.ok()) << executor.status();
    auto reference = (*executor)->RunBatch(p.batch.inputs);
    EXPECT_TRUE(reference.ok()) << reference.status();
    p.reference = *std::move(reference);
    auto seen = Calibrate(graph, p.batch.inputs, kImages);
    EXPECT_TRUE(seen.ok()) << seen.status();
    *data = *std::move(seen);
  }
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = family.quantises_outputs;
  recipe.activations.type.symmetric = !point.is_int8() || !point.other.empty();
  auto quantised = Quantise(graph, recipe, *data);
  EXPECT_TRUE(quantised.ok()) << quantised.status();
  p.quantised = *std::move(quantised);
  if (!point.is_int8()) {
    const auto activations = FindQuantType(point.activations),
               weights = FindQuantType(point.weights);
    EXPECT_TRUE(activations.ok() && weights.ok()) << activations.status() << weights.status();
    Retype(p.quantised, *activations, *weights);
  }
  if (!point.other.empty()) {
    const auto other = FindQuantType(point.other);
    EXPECT_TRUE(other.ok()) << other.status();
    RetypeEverySecondProduct(p.quantised, *other);
  }
  return p;
}

StatusOr<RunResult> RunAt(const Accelerator& accelerator, const Program& program,
                          const Batch& batch, Level level, int threads) {
  SetThreadCount(threads);
  RunOptions options;
  options.level = level;
  auto result = accelerator.Run(program, batch, options);
  SetThreadCount(0);
  return result;
}

std::unique_ptr<Accelerator> Load(const std::string& design_point) {
  auto accelerator = LoadAccelerator(design_point);
  EXPECT_TRUE(accelerator.ok()) << accelerator.status();
  return accelerator.ok() ? *std::move(accelerator) : nullptr;
}

}  // namespace kiln::conformance
