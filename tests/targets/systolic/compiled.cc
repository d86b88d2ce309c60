#include "tests/targets/systolic/compiled.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "kiln/ir/batch_shape.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/targets/systolic/compile/codegen.h"
#include "kiln/targets/systolic/compile/lower.h"

namespace kiln::systolic {

StatusOr<Graph> Prepare(Graph graph, const std::vector<std::vector<Tensor>>& images,
                        const Recipe& recipe) {
  PassContext context;
  KILN_RETURN_IF_ERROR(RunPasses(graph, StandardPipeline(), context));
  KILN_RETURN_IF_ERROR(RunPasses(graph, LayoutPipeline(), context));
  KILN_RETURN_IF_ERROR(InferShapes(graph));
  std::vector<Tensor> batch;
  for (const Tensor& first : images.front()) {
    batch.emplace_back(first.type(), BatchShape(first.shape(), std::ssize(images)));
  }
  for (size_t image = 0; image < images.size(); ++image) {
    for (size_t i = 0; i < batch.size(); ++i)
      SetSample(images[image][i], static_cast<int64_t>(image), &batch[i]);
  }
  KILN_ASSIGN_OR_RETURN(const CalibrationData data, Calibrate(graph, batch, std::ssize(images)));
  return Quantise(graph, recipe, data);
}

StatusOr<std::unique_ptr<SystolicProgram>> CompileFor(const Graph& prepared, const Config& config,
                                                      bool host_fallback) {
  CompileOptions options;
  options.host_fallback = host_fallback;
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lower(prepared, config, options));
  return Generate(std::move(lowered), prepared, config, options);
}

Config SquareConfig(int size, Config config) {
  config.name = "square-" + std::to_string(size);
  config.array_rows = config.array_columns = size;
  config.input_port_bytes = config.weight_port_bytes = config.operand_port_bytes =
      config.output_port_bytes = std::max(size, kLeastPort);
  return config;
}

std::string KernelList(const Program& program) {
  std::string out;
  for (const KernelInfo& kernel : program.kernels()) {
    out += kernel.unit + " " + kernel.operation;
    if (kernel.on_host()) out += " (" + kernel.host_reason + ")";
    out += "\n";
  }
  return out;
}

std::string SharedFolder() {
  const char* folder = std::getenv("KILN_SHARED");
  const std::string path = folder != nullptr ? folder : "../shared";
  return std::filesystem::is_directory(path) ? path : "";
}

}  // namespace kiln::systolic
