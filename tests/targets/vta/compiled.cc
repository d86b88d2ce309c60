#include "tests/targets/vta/compiled.h"

#include <gtest/gtest.h>

#include "fmt/format.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "kiln/targets/vta/lint/lint.h"

namespace kiln::vta {

Graph Prepare(Graph graph, const Batch& images, const Recipe& recipe) {
  PassContext context;
  EXPECT_EQ(RunPasses(graph, StandardPipeline(), context), OkStatus());
  EXPECT_EQ(RunPasses(graph, LayoutPipeline(), context), OkStatus());
  const auto seen = Calibrate(graph, images.inputs, images.images());
  EXPECT_TRUE(seen.ok()) << seen.status();
  auto quantised = Quantise(graph, recipe, *seen);
  EXPECT_TRUE(quantised.ok()) << quantised.status();
  return *std::move(quantised);
}

Batch RandomImages(const Graph& graph, int64_t images, uint64_t seed) {
  Random random(seed);
  Batch batch;
  for (const Value* input : graph.inputs()) {
    std::vector<int64_t> dims = input->shape().dims();
    dims[0] = images;
    batch.inputs.push_back(RandomTensor(random, input->element(), Shape(dims), -1.0, 2.0));
  }
  return batch;
}

std::unique_ptr<VtaProgram> CompileFor(const Graph& prepared, const Config& config, int threads) {
  const VtaAccelerator accelerator(config);
  CompileOptions options;
  options.host_fallback = false;
  auto program = accelerator.CompileWithThreads(prepared, options, threads);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return nullptr;
  return std::unique_ptr<VtaProgram>(dynamic_cast<VtaProgram*>(program->release()));
}

Config PynqConfig() {
  Config config;
  config.name = "pynq";
  config.uop_buffer_bytes = 1 << 14;
  return config;
}

std::string FindingsOf(const VtaProgram& program) {
  std::string findings;
  for (const Finding& finding : Lint(LaunchesOf(program)).findings) {
    findings += fmt::format("launch {} instruction {}: {}: {}\n", finding.launch,
                            finding.instruction, NameOf(finding.kind), finding.message);
  }
  return findings;
}

Tensor CodesOf(const VtaProgram& program, const Batch& images, Level level) {
  RunOptions options;
  options.level = level;
  const auto result = VtaAccelerator(program.config()).Run(program, images, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->codes[0] : Tensor();
}

}  // namespace kiln::vta
