// Compiles, runs, emits and prices VTA programs: each method checks that a program belongs to the
// family and calls the room that does the work. The end of the file registers the family.

#include "kiln/targets/vta/accelerator.h"

#include "kiln/quantise/recipe_names.h"
#include "kiln/support/integer.h"
#include "kiln/targets/interface/family.h"
#include "kiln/targets/run/host_tail.h"
#include "kiln/targets/vta/compile/codegen.h"
#include "kiln/targets/vta/compile/fold_rows.h"
#include "kiln/targets/vta/compile/lower.h"
#include "kiln/targets/vta/compile/tiling_search.h"
#include "kiln/targets/vta/config/keys.h"
#include "kiln/targets/vta/cost/area_model.h"
#include "kiln/targets/vta/cost/cost.h"
#include "kiln/targets/vta/run/emit_network.h"

namespace kiln::vta {
namespace {

// Returns the names of the integer formats `kind` from `most` down to 2 bits, whose codes the
// machine can hold. Codes of unsigned activations are stored less half their range.
std::vector<std::string> Integers(const char* kind, int most) {
  std::vector<std::string> names;
  for (int bits = most; bits >= 2; --bits) names.push_back(kind + std::to_string(bits));
  return names;
}

}  // namespace

std::vector<std::string> VtaAccelerator::ActivationFormats() const {
  std::vector<std::string> names = Integers("int", config_.input_bits);
  for (const std::string& name : Integers("uint", config_.input_bits)) names.push_back(name);
  names.emplace_back("fp32");
  return names;
}

std::vector<std::string> VtaAccelerator::WeightFormats() const {
  return Integers("int", config_.weight_bits);
}

NamedRecipe VtaAccelerator::OwnRecipe() const {
  const std::string inputs = "int" + std::to_string(config_.input_bits);
  const std::string weights = "int" + std::to_string(config_.weight_bits);
  if (inputs == "int8" && weights == "int8") return {.name = "int8", .recipe = Int8Recipe()};
  return {.name = inputs == weights ? inputs : inputs + "/" + weights,
          .recipe = RecipeWithScales(*FindQuantType(inputs), *FindQuantType(weights))};
}

StatusOr<std::unique_ptr<Program>> VtaAccelerator::CompileWithThreads(const Graph& graph,
                                                                      const CompileOptions& options,
                                                                      int threads) const {
  return CompileWithTail(graph, options, [&](const Graph& known) {
    return CompileNetwork(known, config_, options, threads);
  });
}

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& graph, const Config& config,
                                                  const CompileOptions& options, int threads) {
  // Code generation decides whether a layer fits in the buffers. A layer that does not fit runs on
  // the host, which changes the layers around it, so lowering starts again.
  TilingMemo tilings;
  for (Refusals refusals;;) {
    const size_t before = refusals.size();
    KILN_ASSIGN_OR_RETURN(Network network, Lower(graph, config, options, refusals));
    FoldRows(&network, config);
    StatusOr<std::unique_ptr<VtaProgram>> program =
        Generate(std::move(network), config, threads, &tilings, &refusals);
    if (program.ok()) return std::move(program).value();
    if (refusals.size() == before || !options.host_fallback) return program.status();
  }
}

Status VtaAccelerator::EmitRtl(const Program& program, const FolderContent& content,
                               const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const VtaProgram* compiled, OwnOf(program));
  return EmitNetwork(*compiled, content, folder);
}

StatusOr<Cost> VtaAccelerator::EstimateCost(int node_nm) const { return CostOf(config_, node_nm); }

StatusOr<Energy> VtaAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const VtaProgram* compiled, OwnOf(program));
  Events events;
  for (const Step& step : compiled->parts().steps) {
    if (step.launch.has_value()) CountEvents(step.launch->instructions, config_, &events);
  }
  KILN_ASSIGN_OR_RETURN(Energy energy, EnergyOf(events, config_, node_nm));
  // Launches that work on several images are divided among them.
  for (EnergyPart& part : energy.parts)
    part.count = CeilDivide(part.count, compiled->parts().images_at_once);
  return energy;
}

StatusOr<Traffic> VtaAccelerator::EstimateTraffic(const Program& program) const {
  KILN_ASSIGN_OR_RETURN(const VtaProgram* compiled, OwnOf(program));
  const auto width = static_cast<double>(config_.memory_port_bytes);
  Traffic traffic = Traffic::For({{.name = "reads", .bytes_per_cycle = width},
                                  {.name = "writes", .bytes_per_cycle = width, .writes = true}},
                                 program.kernels().size());
  traffic.images = compiled->parts().images_at_once;
  const std::vector<Step>& steps = compiled->parts().steps;
  for (size_t k = 0; k < steps.size(); ++k) {
    if (!steps[k].launch.has_value()) continue;
    Events events;
    CountEvents(steps[k].launch->instructions, config_, &events);
    traffic.bytes[k] = {events.bytes_read(), events.output_bytes};
  }
  return traffic;
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfigOfFile(yaml, source));
  return std::make_unique<VtaAccelerator>(std::move(config));
}

StatusOr<std::unique_ptr<Accelerator>> VtaAccelerator::WithMemoryLatency(uint64_t cycles) const {
  Config config = config_;
  config.memory_latency =
      static_cast<int>(std::min<uint64_t>(cycles, 1 << 24)) + int{kAxiPortLatency};
  return ParseDesignPoint(PrintConfig(config), config.name);
}

hardware::FamilyKeys DescribeKeys() {
  return {
      .family = Keys().family(),
      .introduction =
          "A file that ends in `.json` is the original's configuration: its keys hold base-2\n"
          "logarithms, and one key, `LOG_BLOCK`, sets both `block_in` and `block_out`. `HW_VER`\n"
          "can only be 0.0.2. Other keys that are not sizes, such as `TARGET`, are ignored.\n\n"
          "The widths of instruction fields follow from the buffer sizes. A combination whose\n"
          "micro-op needs more than 32 bits, whose instruction needs more than 128 bits, or\n"
          "whose elements are not whole bytes is an error that names the reason.\n\n"
          "[vta.md](vta.md) describes the instructions, [vta-machine.md](vta-machine.md) the\n"
          "machine and its time, [cost.md](cost.md) its area and energy.",
      .keys = Keys().Describe()};
}

FamilyEntry Entry() {
  return {.name = "vta",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .file_ending = ".json",  // the original's vta_config.json
          .areas = &FamilyAreaModels};
}

}  // namespace kiln::vta
