#include "kiln/targets/systolic/accelerator.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/check.h"
#include "kiln/targets/interface/family.h"
#include "kiln/targets/systolic/codegen.h"
#include "kiln/targets/systolic/cycle.h"
#include "kiln/targets/systolic/functional.h"
#include "kiln/targets/systolic/lower.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

std::vector<std::string> SystolicAccelerator::ActivationFormats() const {
  return {"int8", "int7", "int6", "int5", "int4", "int3", "int2", "int16", "fp32"};
}

std::vector<std::string> SystolicAccelerator::WeightFormats() const {
  return {"int8", "int7", "int6", "int5", "int4", "int3", "int2"};
}

StatusOr<std::unique_ptr<Program>> SystolicAccelerator::Compile(const Graph& graph,
                                                                const CompileOptions& options) const {
  // Passes may leave types open that constants they folded have since decided.
  const std::vector<Value*> values = graph.Values();
  const bool known =
      std::all_of(values.begin(), values.end(), [](const Value* v) { return v->has_shape() && v->shape().IsKnown(); });
  if (!known) {
    Graph inferred = graph.Clone();
    KILN_RETURN_IF_ERROR(InferShapes(inferred));
    return CompileKnown(inferred, options);
  }
  return CompileKnown(graph, options);
}

StatusOr<std::unique_ptr<Program>> SystolicAccelerator::CompileKnown(const Graph& graph,
                                                                     const CompileOptions& options) const {
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lower(graph, config_, options));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<SystolicProgram> program, Generate(std::move(lowered), graph, config_));
  return program;
}

StatusOr<RunResult> SystolicAccelerator::Run(const Program& program, const Batch& batch,
                                             const RunOptions& options) const {
  const auto* systolic = dynamic_cast<const SystolicProgram*>(&program);
  if (systolic == nullptr)
    return ErrorAt("", name(), "the program was compiled for another family", "compile it for this one");
  switch (options.level) {
    case Level::kFunctional:
      return RunFunctional(*systolic, batch, options);
    case Level::kCycle:
      return RunCycle(*systolic, batch, options);
    case Level::kReference:
      return ErrorAt("", name(), "the reference level runs graphs, not programs",
                     "run the network itself at that level");
    case Level::kRtl:
      return UnsupportedAt("", name(), "the systolic family has no RTL yet", "use level functional or cycle");
  }
  KILN_CHECK(false);
  return absl::InternalError("");
}

Status SystolicAccelerator::EmitRtl(const Program&, const std::filesystem::path&) const {
  return UnsupportedAt("", name(), "the systolic family has no RTL yet", "");
}

StatusOr<Cost> SystolicAccelerator::EstimateCost() const {
  const Config& c = config_;
  Cost cost;
  cost.multipliers = c.macs_per_cycle() + int64_t{c.lanes()} * c.depthwise_multipliers;
  const int64_t input_word = int64_t{c.array_rows} * c.input_format.bits;
  const int64_t weight_word = int64_t{c.array_columns} * c.weight_format.bits;
  cost.on_chip_memory_bits =
      2 * c.input_buffer_words * input_word + 2 * c.weight_buffer_words * weight_word +
      int64_t{c.accumulation_buffer_banks} * c.accumulation_buffer_words * c.array_columns * c.accumulator_bits +
      int64_t{c.vector_row_buffer_words} * c.lanes() * c.vector_format.bits;
  if (c.depthwise_multipliers > 0) {
    cost.on_chip_memory_bits += 2 * int64_t{c.depthwise_buffer_words} * c.lanes() * c.input_format.bits;
  }
  cost.source = "counted from the design point";
  return cost;
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<SystolicAccelerator>(std::move(config));
}

}  // namespace kiln::systolic
