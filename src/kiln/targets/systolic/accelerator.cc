// Implements SystolicAccelerator with the rooms of the family (compile, simulate, emit, cost), and
// defines the family's entry in the registry.
#include "kiln/targets/systolic/accelerator.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/support/check.h"
#include "kiln/targets/interface/family.h"
#include "kiln/targets/run/host_tail.h"
#include "kiln/targets/systolic/compile/codegen.h"
#include "kiln/targets/systolic/compile/lower.h"
#include "kiln/targets/systolic/config/keys.h"
#include "kiln/targets/systolic/cost/area_model.h"
#include "kiln/targets/systolic/cost/cost.h"
#include "kiln/targets/systolic/cost/events.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/isa/program.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/record_sample.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "kiln/targets/systolic/simulate/rtl/rtl.h"

namespace kiln::systolic {

namespace {

void AddName(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

// Adds the name of one of the array's formats. For an integer format, also adds every narrower
// integer, because its codes are codes of the array's format too.
void AddNames(const Format& format, std::vector<std::string>* names) {
  AddName(format.name, names);
  for (int bits = format.bits; format.is_integer() && bits >= 2; --bits)
    AddName("int" + std::to_string(bits), names);
}

}  // namespace

std::vector<std::string> SystolicAccelerator::ActivationFormats() const {
  std::vector<std::string> names;
  for (int p = 0; p < config_.precisions(); ++p) AddNames(config_.input_format_of(p), &names);
  for (const std::string& name :
       {std::string("int16"), config_.vector_format.name, std::string("fp32")}) {
    AddName(name, &names);
  }
  return names;
}

std::vector<std::string> SystolicAccelerator::WeightFormats() const {
  std::vector<std::string> names;
  for (int p = 0; p < config_.precisions(); ++p) AddNames(config_.weight_format_of(p), &names);
  return names;
}

NamedRecipe SystolicAccelerator::OwnRecipe() const {
  const auto type_of = [this](const Format& format) {
    QuantType type{.format = format};
    if (config_.block_size > 0) {
      type.scheme = Scheme::kPerBlock;
      type.block_size = config_.block_size;
      type.scale_format = config_.scale_format;
    } else if (!format.is_whole()) {
      type.scheme = Scheme::kNone;
    }
    return type;
  };
  const QuantType inputs = type_of(config_.input_format), weights = type_of(config_.weight_format);
  const auto name_of = [](const QuantType& type) {
    const std::string name = NameOfType(type);
    return !name.empty() ? name
                         : fmt::format("{} in blocks of {}", type.format.name, type.block_size);
  };
  const std::string name =
      inputs == weights ? name_of(inputs) : name_of(inputs) + "/" + name_of(weights);
  NamedRecipe own{.name = name,
                  .recipe = name == "int8" ? Int8Recipe() : RecipeWithScales(inputs, weights)};
  QuantType& activations = own.recipe.activations.type;
  if (!activations.symmetric && !config_.accumulation_format.is_integer()) {
    activations.symmetric = true;  // the zero-point correction needs integer sums
    own.name += "-symmetric";
  }
  return own;
}

StatusOr<std::unique_ptr<Accelerator>> SystolicAccelerator::WithFormats(
    const QuantType& activations, const QuantType& weights) const {
  const bool scaled =
      activations.scheme == Scheme::kPerBlock || weights.scheme == Scheme::kPerBlock;
  const QuantType& blocks = activations.scheme == Scheme::kPerBlock ? activations : weights;
  if (activations.scheme == Scheme::kPerBlock && weights.scheme == Scheme::kPerBlock &&
      (activations.block_size != weights.block_size ||
       activations.scale_format != weights.scale_format)) {
    return UnsupportedAt("", name(), "activations and weights have different block scales",
                         "one block size and one scale format");
  }
  if (scaled && config_.shared_bus) {
    return UnsupportedAt("", name(),
                         "block scales have ports of their own, this design point has one bus",
                         "shared_bus: false");
  }
  Config c = config_;
  // Unsigned activations are stored as signed codes: the code minus half of its range.
  const auto operand = [](const Format& format) {
    const bool shifted = format.is_whole() && !format.is_signed && format.bits <= 8;
    return shifted ? *FindFormat("int" + std::to_string(format.bits)) : format;
  };
  c.input_format = operand(activations.format);
  c.weight_format = operand(weights.format);
  c.name = config_.name + " as " + activations.format.name + " x " + weights.format.name;
  c.block_size = scaled ? blocks.block_size : 0;
  if (scaled) {
    c.scale_format = blocks.scale_format;
    c.name += fmt::format(" with {} scales of {}", c.scale_format.name, c.block_size);
  }
  // If the formats are those of one of its precisions, the design point itself is used. Only the
  // first precision has the design point's block scales.
  bool own = false;
  for (int p = 0; p < config_.precisions(); ++p) {
    const Config at = AtPrecision(config_, p);
    own = own || (c.input_format == at.input_format && c.weight_format == at.weight_format &&
                  c.block_size == at.block_size && c.scale_format == at.scale_format);
  }
  if (own) {
    c.input_format = config_.input_format;
    c.weight_format = config_.weight_format;
    c.block_size = config_.block_size;
  } else {
    c.other_precisions.clear();
    SetDefaultSums(&c);
    if (activations.format.is_integer() && activations.scheme != Scheme::kPerBlock)
      c.integer_elements = true;
  }
  if (!own && !c.psum_format.is_integer()) {
    const bool wide = c.input_format.bits > 16 || c.weight_format.bits > 16;
    if (!config_.psum_format.is_integer()) c.psum_format = config_.psum_format;
    if (config_.psum_format.is_integer() && wide) c.psum_format = *FindFormat("fp32");
    if (!config_.accumulation_format.is_integer())
      c.accumulation_format = config_.accumulation_format;
  }
  if (!own && c.block_size > 0) c.accumulation_format = *FindFormat("fp32");
  if (c.psum_format.is_integer())
    c.quire = c.product_rounded = false;  // integer sums are exact already
  if (!own) SetDefaultArrayLatencies(&c);
  if (const auto fault = FindFormatFault(c)) {
    return UnsupportedAt("", fmt::format("{}, key '{}'", c.name, fault->key), fault->fault,
                         fault->remedy);
  }
  // Drops features that the new formats do not allow: without the user unit, its nodes run
  // elsewhere; with fewer words per cycle, the depthwise fills take more beats.
  if (FindUserUnitFault(c)) c.user_unit = nullptr;
  while (!DepthwiseWordsFit(c)) c.depthwise_words_per_cycle /= 2;
  return std::make_unique<SystolicAccelerator>(std::move(c));
}

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& graph, const Config& config,
                                                  const CompileOptions& options) {
  // Checks the node, at which schedules may be chosen by energy.
  KILN_RETURN_IF_ERROR(EnergyOf(Events(), config, options.node_nm).status());
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lower(graph, config, options));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<SystolicProgram> program,
                        Generate(std::move(lowered), graph, config, options));
  return program;
}

StatusOr<RunResult> RunNetwork(const SystolicProgram& program, const Batch& batch,
                               const RunOptions& options) {
  KILN_CHECK(options.level != Level::kReference);
  KILN_ASSIGN_OR_RETURN(RunResult result,
                        options.level == Level::kFunctional ? RunFunctional(program, batch, options)
                        : options.level == Level::kCycle    ? RunCycle(program, batch, options)
                                                            : RunRtl(program, batch, options));
  return RunTail(program, batch, std::move(result));
}

Status SystolicAccelerator::EmitRtl(const Program& program, const FolderContent& content,
                                    const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const SystolicProgram* systolic, OwnOf(program));
  KILN_ASSIGN_OR_RETURN(const hardware::SampleRun sample, RecordSample(*systolic, content.sample));
  return EmitDesign(*systolic, content, sample, folder);
}

StatusOr<Cost> SystolicAccelerator::EstimateCost(int node_nm) const {
  return CostOf(config_, node_nm);
}

StatusOr<Energy> SystolicAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const SystolicProgram* systolic, OwnOf(program));
  return EnergyOf(CountEvents(systolic->instructions(), config_), config_, node_nm);
}

StatusOr<Traffic> SystolicAccelerator::EstimateTraffic(const Program& program) const {
  KILN_ASSIGN_OR_RETURN(const SystolicProgram* systolic, OwnOf(program));
  Traffic traffic = TrafficOf(systolic->instructions(), program.kernels().size(), config_);
  // The header that ends a program comes through the port of programs, which is the first.
  for (const Step& step : systolic->steps()) {
    if (step.kind != Step::Kind::kInstructions || step.begin == step.end) continue;
    const Instruction& last = systolic->instructions()[static_cast<size_t>(step.end) - 1];
    traffic.bytes[last.kernel][0] += kInstructionWordBytes;
  }
  return traffic;
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<SystolicAccelerator>(std::move(config));
}

StatusOr<std::unique_ptr<Accelerator>> SystolicAccelerator::WithMemoryLatency(
    uint64_t cycles) const {
  Config config = config_;
  config.memory_latency =
      static_cast<int>(std::min<uint64_t>(cycles, 1 << 24)) + config_.port_latency();
  return ParseDesignPoint(PrintConfig(config), config.name);
}

hardware::FamilyKeys DescribeKeys() {
  return {.family = Keys().family(),
          .introduction =
              "[systolic.md](systolic.md) describes the machine and the names of\n"
              "[number formats](systolic.md#numbers), [cost.md](cost.md) its area and energy,\n"
              "[user-unit.md](user-unit.md) how to add a user unit.",
          .keys = Keys().Describe()};
}

FamilyEntry Entry() {
  return {.name = "systolic",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels};
}

}  // namespace kiln::systolic
