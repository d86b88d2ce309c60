#include "tests/targets/cgra/compile/by_graph.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "kiln/ir/text.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/run/tensor_machine.h"
#include "tests/targets/cgra/compile/index_text_value.h"

namespace kiln::cgra {
namespace {

Status EvaluateLaunch(const Launch& launch, int64_t lanes, BufferContents* contents) {
  for (int64_t run = 0; run < launch.runs; ++run) {
    const std::vector<int32_t> data = DataOf(launch, run, lanes, *contents);
    std::vector<std::vector<Vector>> inputs(static_cast<size_t>(launch.threads));
    auto at = data.begin();
    for (std::vector<Vector>& thread : inputs) {
      for (size_t i = 0; i < launch.feeds.size(); ++i, at += lanes)
        thread.emplace_back(at, at + lanes);
    }
    EvaluateOptions options;
    options.threads = static_cast<int>(launch.threads);
    options.lanes = static_cast<int>(lanes);
    const Evaluation evaluated = Evaluate(launch.mapped->graph, inputs, options);
    std::vector<int32_t> results;
    for (int64_t t = launch.first_sent; t < launch.threads; ++t) {
      for (const Vector& vector : evaluated.outputs[static_cast<size_t>(t)])
        results.insert(results.end(), vector.begin(), vector.end());
    }
    StoreResults(launch, run, lanes, results, contents);
  }
  return OkStatus();
}

}  // namespace

Config MachineOf16() {
  Config config;
  config.name = "machine-16";
  config.lanes = 8;
  config.wait_limit = 16;
  return config;
}

Config MachineOf4() {
  Config config;
  config.name = "machine-4";
  config.columns = 4;
  config.lanes = 4;
  config.memory_depth = 256;
  config.ring_entries = 8;
  config.outputs = 2;
  config.wait_limit = 16;
  return config;
}

std::unique_ptr<NetworkProgram> CompileText(const std::string& text, const Config& config) {
  const auto graph = ParseGraph(text, "test.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return nullptr;
  auto program = CompileNetwork(*graph, config, {});
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return nullptr;
  std::unique_ptr<NetworkProgram> own(dynamic_cast<NetworkProgram*>(program->release()));
  CheckIndexTexts(*own);
  return own;
}

StatusOr<RunResult> RunByGraph(const NetworkProgram& program, const Batch& batch) {
  const int64_t lanes = program.config().lanes;
  return RunOnTensorMachines(
      program, program.network(), batch, {}, nullptr, [&](const RtlOptions&) {
        return MakeNetworkMachine(
            program, [lanes](const KernelPlace&, const Launch& launch, BufferContents* contents,
                             Trace*) { return EvaluateLaunch(launch, lanes, contents); });
      });
}

}  // namespace kiln::cgra
