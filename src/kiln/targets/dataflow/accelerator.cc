// Emits networks and estimates their costs on one device: each method checks that a program belongs
// to the family and calls the room that does the work. The end of the file registers the family.

#include "kiln/targets/dataflow/accelerator.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/config/keys.h"
#include "kiln/targets/dataflow/cost/area_model.h"
#include "kiln/targets/dataflow/cost/cost.h"
#include "kiln/targets/dataflow/cost/events.h"
#include "kiln/targets/dataflow/emit/emit.h"
#include "kiln/targets/interface/family.h"

namespace kiln::dataflow {
namespace {

constexpr int kMostBits = 16;

// Returns the names of the integer formats `kind` from 16 bits down.
std::vector<std::string> Integers(const char* kind, int least) {
  std::vector<std::string> names;
  for (int bits = kMostBits; bits >= least; --bits) names.push_back(kind + std::to_string(bits));
  return names;
}

std::vector<const Pipeline*> PipelinesOf(const DataflowProgram& program) {
  std::vector<const Pipeline*> pipelines;
  for (const Segment& segment : program.segments()) pipelines.push_back(&segment.pipeline);
  return pipelines;
}

}  // namespace

std::vector<std::string> DataflowAccelerator::ActivationFormats() const {
  std::vector<std::string> names = Integers("int", 2);
  for (const std::string& name : Integers("uint", 1)) names.push_back(name);
  names.emplace_back("fp32");
  return names;
}

std::vector<std::string> DataflowAccelerator::WeightFormats() const { return Integers("int", 2); }

NamedRecipe DataflowAccelerator::OwnRecipe() const {
  return {.name = "int8", .recipe = Int8Recipe()};
}

Status DataflowAccelerator::EmitRtl(const Program& program,
                                    const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  const auto& segments = compiled->segments();
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto to = segments.size() == 1 ? folder : folder / fmt::format("segment{}", i);
    hardware::RtlProject project = ProjectOf(segments[i].pipeline, EmitOptionsOf(config_));
    project.others.emplace_back("design.yaml", PrintConfig(config_));
    KILN_RETURN_IF_ERROR(hardware::WriteRtlProject(project, to));
  }
  return OkStatus();
}

StatusOr<Cost> DataflowAccelerator::EstimateCost(int node_nm) const {
  return DeviceCost(config_, node_nm);
}

StatusOr<Cost> DataflowAccelerator::EstimateProgramCost(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  return PipelineCost(PipelinesOf(*compiled), config_, node_nm);
}

StatusOr<Energy> DataflowAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  return EnergyOf(PipelinesOf(*compiled), config_.ultrascale, node_nm);
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<DataflowAccelerator>(std::move(config));
}

hardware::FamilyKeys DescribeKeys() {
  return {.family = Keys().family(),
          .introduction =
              "A design point is a device and its clock. Kiln builds the hardware for a network\n"
              "when it compiles: every layer becomes a stage, folded so that the pipeline is as\n"
              "fast as the device allows. [dataflow.md](dataflow.md) says how to use it,\n"
              "[dataflow-machine.md](dataflow-machine.md) what the stages compute and when.",
          .keys = Keys().Describe()};
}

FamilyEntry Entry() {
  return {.name = "dataflow",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels};
}

}  // namespace kiln::dataflow
