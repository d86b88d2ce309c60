// Emits networks and estimates their costs on one machine: each method checks that a program
// belongs to the family and calls the room that does the work. The end of the file registers the
// family.

#include "kiln/targets/cgra/accelerator.h"

#include <utility>

#include "kiln/quantise/recipe_names.h"
#include "kiln/targets/cgra/config/keys.h"
#include "kiln/targets/cgra/cost/area_model.h"
#include "kiln/targets/cgra/cost/cost.h"
#include "kiln/targets/cgra/cost/events.h"
#include "kiln/targets/cgra/emit/emit.h"

namespace kiln::cgra {

std::vector<std::string> CgraAccelerator::ActivationFormats() const {
  std::vector<std::string> names;
  for (const char* kind : {"int", "uint"}) {
    for (int bits = 16; bits >= 2; --bits) names.push_back(kind + std::to_string(bits));
  }
  names.emplace_back("fp32");
  return names;
}

std::vector<std::string> CgraAccelerator::WeightFormats() const {
  std::vector<std::string> names;
  for (int bits = 8; bits >= 2; --bits) names.push_back("int" + std::to_string(bits));
  return names;
}

NamedRecipe CgraAccelerator::OwnRecipe() const { return {.name = "int8", .recipe = Int8Recipe()}; }

Status CgraAccelerator::EmitRtl(const Program& program, const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* compiled, OwnOf(program));
  // The first configuration is the example of `make sim`; a network may have none on the machine.
  const CgraProgram* first = nullptr;
  for (const LoweredKernel& kernel : compiled->lowered()) {
    if (first != nullptr) break;
    if (!kernel.machine.has_value() || kernel.machine->launches.empty()) continue;
    first = &kernel.machine->launches.front().mapped->program;
  }
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, first != nullptr
                                                          ? ProjectOf(*first, MakeExample(*first))
                                                          : ProjectOf(config_));
  std::erase_if(project.others, [](const auto& file) { return file.first == "program.txt"; });
  project.others.emplace_back("program.txt", compiled->Print());
  return hardware::WriteRtlProject(project, folder);
}

StatusOr<Cost> CgraAccelerator::EstimateCost(int node_nm) const {
  return MachineCost(config_, node_nm);
}

StatusOr<Energy> CgraAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* compiled, OwnOf(program));
  std::vector<LaunchWork> work;
  for (const LoweredKernel& kernel : compiled->lowered()) {
    if (!kernel.machine.has_value()) continue;
    for (const Launch& launch : kernel.machine->launches) {
      work.push_back({.program = &launch.mapped->program,
                      .runs = launch.runs,
                      .threads = launch.threads,
                      .first_sent = launch.first_sent});
    }
  }
  return EnergyOf(work, config_, node_nm);
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<CgraAccelerator>(std::move(config));
}

hardware::FamilyKeys DescribeKeys() {
  return {.family = Keys().family(),
          .introduction =
              "A design point is an array of tiles that repeats a schedule, and the rules by\n"
              "which computation graphs are mapped to it. The defaults are the Streaming\n"
              "Engine's, as `accelerators/se-*.yaml` are. Kiln builds machines of one row, with\n"
              "a limit on how long operands wait; other arrays exist for mapping only.\n"
              "[cgra.md](cgra.md) says how to use them, [cgra-machine.md](cgra-machine.md) what\n"
              "a machine does in which cycle.",
          .keys = Keys().Describe()};
}

FamilyEntry Entry() {
  return {.name = "cgra",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels};
}

}  // namespace kiln::cgra
