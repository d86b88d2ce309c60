// Emits networks and estimates their costs on one machine: each method checks that a program
// belongs to the family and calls the room that does the work. The end of the file registers the
// family.

#include "kiln/targets/binary/accelerator.h"

#include <utility>

#include "fmt/format.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/targets/binary/config/keys.h"
#include "kiln/targets/binary/cost/area_model.h"
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/cost/events.h"
#include "kiln/targets/binary/emit/emit.h"

namespace kiln::binary {
namespace {

std::vector<std::string> IntegersUpTo(int bits, std::initializer_list<const char*> kinds) {
  std::vector<std::string> names;
  for (const char* kind : kinds) {
    for (int b = bits; b >= 2; --b) names.push_back(fmt::format("{}{}", kind, b));
  }
  return names;
}

}  // namespace

std::vector<std::string> BinaryAccelerator::ActivationFormats() const {
  return IntegersUpTo(config_.activation_bits, {"uint", "int"});
}

std::vector<std::string> BinaryAccelerator::WeightFormats() const {
  return IntegersUpTo(16, {"int"});
}

NamedRecipe BinaryAccelerator::OwnRecipe() const {
  if (config_.activation_bits >= 8) return {.name = "int8", .recipe = Int8Recipe()};
  return {.name = "int4", .recipe = *RecipeByName("int4")};
}

Status BinaryAccelerator::EmitRtl(const Program& program,
                                  const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* own, OwnOf(program));
  // The first launch is the example of `make sim`; a network may have none on the machine.
  hardware::RtlProject project = ProjectOf(config_);
  for (const auto& launches : own->launches()) {
    if (launches.empty()) continue;
    project = ProjectOf(launches.front().program);
    break;
  }
  std::erase_if(project.others, [](const auto& file) { return file.first == "program.txt"; });
  project.others.emplace_back("program.txt", own->Print());
  return hardware::WriteRtlProject(project, folder);
}

StatusOr<Cost> BinaryAccelerator::EstimateCost(int node_nm) const {
  return MachineCost(config_, node_nm);
}

StatusOr<Energy> BinaryAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* own, OwnOf(program));
  std::vector<const BlockProgram*> programs;
  for (const auto& launches : own->launches()) {
    for (const Launch& launch : launches) programs.push_back(&launch.program);
  }
  return EnergyOf(programs, config_, node_nm);
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<BinaryAccelerator>(std::move(config));
}

hardware::FamilyKeys DescribeKeys() {
  return {
      .family = Keys().family(),
      .introduction =
          "A design point is a machine of one to three stages. A stage keeps tables with the\n"
          "signed sums of a few activations and looks up, for each output channel, the entry\n"
          "that the signs of its weights select. The defaults are those of\n"
          "`accelerators/binary-176.yaml`, but for the clock. [binary.md](binary.md) says how to\n"
          "use them, [binary-machine.md](binary-machine.md) what a machine does in which cycle.",
      .keys = Keys().Describe()};
}

FamilyEntry Entry() {
  return {.name = "binary",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels};
}

}  // namespace kiln::binary
