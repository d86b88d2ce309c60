#include "kiln/targets/systolic/cost.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "fmt/format.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"
#include "kiln/support/integer.h"

namespace kiln::systolic {
namespace {

using hardware::AddEnergy;
using hardware::MemoryEnergyPerBit;
using hardware::MultiplyEnergy;
using hardware::RegisterEnergyPerBit;

constexpr int64_t kLaneBits = 32, kCodeRegisters = 2;  // a weight's: shadow and standing

int64_t Bits(int64_t n) { return n > 1 ? std::bit_width(static_cast<uint64_t>(n - 1)) : 1; }  // $clog2, 1 at least
int64_t CountBits(int64_t n) { return Bits(n + 1); }

// Sizes that several units share.
struct Sizes {
  explicit Sizes(const Config& c)
      : rows(c.array_rows),
        columns(c.array_columns),
        longest(std::max(rows, columns)),
        tiles(c.weight_buffer_words / rows),
        outstanding(c.memory_latency + 4),
        slots(c.command_queue_depth + 8),
        input_bits(c.input_format.bits),
        weight_bits(c.weight_format.bits),
        psum_bits(c.psum_format.bits),
        input_word(rows * input_bits),
        accumulation_word(columns * c.accumulator_bits()) {}
  int64_t rows, columns, longest, tiles;
  int64_t outstanding, slots;
  int64_t input_bits, weight_bits, psum_bits;
  int64_t input_word, accumulation_word;
};

// The memories of each buffer, one size a buffer.
Memories InputMemory(const Config& c) { return {1, 2 * int64_t{c.input_buffer_words} * Sizes(c).input_word}; }
Memories WeightMemories(const Config& c) {
  const Sizes s(c);
  const int64_t steps = s.rows / c.weight_rows_per_cycle;
  const int64_t codes = 2 * s.tiles * std::min(steps, s.columns);
  return {c.weight_rows_per_cycle * std::max(steps, s.columns), codes * s.weight_bits};
}
Memories AccumulationMemories(const Config& c) {
  return {c.accumulation_buffer_banks, int64_t{c.accumulation_buffer_words} * Sizes(c).accumulation_word};
}
Memories DepthwiseInputMemories(const Config& c) {
  return {c.depthwise_multipliers, 2 * int64_t{c.depthwise_buffer_words} * c.lanes() * c.input_format.bits};
}
Memories DepthwiseWeightMemories(const Config& c) {
  const int64_t steps = CeilDivide(c.weight_buffer_words, std::max(c.depthwise_multipliers, 1));
  return {c.depthwise_multipliers, 2 * steps * c.lanes() * c.weight_format.bits};
}
Memories ParameterMemories(const Config& c) {
  return {3, int64_t{c.accumulation_buffer_words} * c.array_columns * kLaneBits};
}
Memories RowMemory(const Config& c) { return {1, int64_t{c.vector_row_buffer_words} * c.lanes() * kLaneBits}; }

ModuleParameters FormatsOf(const Config& c) {
  ModuleParameters p;
  p.Set("INPUT_FORMAT", c.input_format).Set("WEIGHT_FORMAT", c.weight_format).Set("PSUM_FORMAT", c.psum_format);
  return p.Set("PRODUCT_ROUNDED", c.product_rounded ? 1 : 0);
}

ModuleInstances ReadPort(const Config& c, int64_t port_bytes, int64_t word_bytes, int64_t tag_bits) {
  ModuleParameters p;
  p.Set("DATA_BYTES", port_bytes).Set("MAX_BYTES", word_bytes).Set("TAG_BITS", tag_bits);
  p.Set("OUTSTANDING", Sizes(c).outstanding);
  return {"kiln_read_channel", p};
}

UnitParts Array(const Config& c) {
  ModuleParameters skew = FormatsOf(c);
  skew.Set("ARRAY_ROWS", c.array_rows).Set("ARRAY_COLUMNS", c.array_columns);
  skew.Set("WEIGHT_ROWS_PER_CYCLE", c.weight_rows_per_cycle);
  ModuleParameters sequencer = skew;
  sequencer.Set("INPUT_BUFFER_WORDS", c.input_buffer_words);
  sequencer.Set("ACCUMULATION_BUFFER_WORDS", c.accumulation_buffer_words);
  return {"array",
          {{"kiln_processing_element", FormatsOf(c), c.macs_per_cycle()},
           {"kiln_systolic_array", skew},
           {"kiln_array_sequencer", sequencer}},
          {}};
}

UnitParts WeightBuffer(const Config& c) {
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows).Set("ARRAY_COLUMNS", c.array_columns).Set("CODE_BITS", c.weight_format.bits);
  p.Set("WEIGHT_ROWS_PER_CYCLE", c.weight_rows_per_cycle).Set("WEIGHT_BUFFER_WORDS", c.weight_buffer_words);
  return {"weight buffer", {{"kiln_weight_buffer", p}, {"kiln_weight_loader", p}}, {WeightMemories(c)}};
}

UnitParts Accumulators(const Config& c) {
  ModuleParameters p = FormatsOf(c);
  p.Set("ARRAY_COLUMNS", c.array_columns).Set("ACCUMULATION_BUFFER_BANKS", c.accumulation_buffer_banks);
  p.Set("ACCUMULATION_FORMAT", c.accumulation_format).Set("SCALED", c.block_size > 0 ? 1 : 0);
  return {"accumulators", {{"kiln_accumulation_buffer", p}}, {AccumulationMemories(c)}};
}

UnitParts ScalesUnit(const Config& c) {
  const Sizes s(c);
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows).Set("ARRAY_COLUMNS", c.array_columns).Set("SCALE_FORMAT", c.scale_format);
  p.Set("WEIGHT_ROWS_PER_CYCLE", c.weight_rows_per_cycle);
  const int64_t bits = c.scale_format.bits;
  return {"block scales",
          {{"kiln_block_scales", p}},
          {{1, 2 * int64_t{c.input_buffer_words} * (bits + 1)}, {c.array_columns, 2 * s.tiles * bits}}};
}

UnitParts Depthwise(const Config& c) {
  ModuleParameters p = FormatsOf(c);
  p.Set("ARRAY_COLUMNS", c.array_columns).Set("DEPTHWISE_MULTIPLIERS", c.depthwise_multipliers);
  return {"depthwise unit", {{"kiln_depthwise_cluster", p}}, {DepthwiseInputMemories(c), DepthwiseWeightMemories(c)}};
}

// Fetch units and their ports; tags as kiln_systolic sizes them.
UnitParts InputFetch(const Config& c) {
  const Sizes s(c);
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows).Set("ARRAY_COLUMNS", c.array_columns).Set("INPUT_BITS", s.input_bits);
  const int64_t words = std::max(c.input_buffer_words, c.depthwise_buffer_words);
  const int64_t tag = 3 + Bits(words) + 2 * CountBits(s.longest) + s.input_bits;
  return {"input fetch",
          {{"kiln_input_fetch", p}, ReadPort(c, c.input_port_bytes, s.longest * c.input_format.bytes(), tag)},
          {}};
}
UnitParts WeightFetch(const Config& c) {
  const Sizes s(c);
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows).Set("ARRAY_COLUMNS", c.array_columns).Set("WEIGHT_BITS", s.weight_bits);
  const int64_t tag = 4 + Bits(s.tiles) + Bits(s.longest) + CountBits(s.longest);
  return {"weight fetch",
          {{"kiln_weight_fetch", p}, ReadPort(c, c.weight_port_bytes, s.longest * c.weight_format.bytes(), tag)},
          {}};
}
UnitParts ParameterFetch(const Config& c) {
  ModuleParameters p;
  p.Set("ARRAY_COLUMNS", c.array_columns);
  return {"channel parameters", {{"kiln_parameter_fetch", p}}, {ParameterMemories(c)}};
}

// The stages of one kind, by what they have.
void AddStages(const Config& c, const ModuleParameters& kind, std::vector<ModuleInstances>* modules) {
  const uint32_t all = c.present_stages(kEveryStage);
  for (const bool functions : {true, false}) {
    for (const bool divider : {true, false}) {
      const uint32_t stages = all & (functions ? c.vector_function_stages : ~c.vector_function_stages) &
                              (divider ? c.vector_divide_stages : ~c.vector_divide_stages);
      if (stages == 0) continue;
      ModuleParameters p = kind;
      p.Set("HAS_FUNCTIONS", functions ? 1 : 0).Set("HAS_DIVIDER", divider ? 1 : 0);
      modules->push_back({"kiln_vector_stage", p, std::popcount(stages)});
    }
  }
}

UnitParts Vector(const Config& c) {
  const Sizes s(c);
  ModuleParameters stage;
  stage.Set("LANES", c.lanes()).Set("LATENCY", c.vector_stage_latency).Set("SLOTS", s.slots);
  stage.Set("ROWS", c.vector_rows_in_flight);
  ModuleParameters scalar = stage;  // of what a row has been reduced to
  scalar.Set("LANES", 1);
  ModuleParameters rest = FormatsOf(c);
  rest.Set("ARRAY_COLUMNS", c.array_columns).Set("VECTOR_STAGES", c.vector_stages).Set("SLOTS", s.slots);
  rest.Set("VECTOR_STAGE_LATENCY", c.vector_stage_latency).Set("OPERAND_BUFFER_WORDS", c.operand_buffer_words);
  rest.Set("VECTOR_ROWS_IN_FLIGHT", c.vector_rows_in_flight).Set("ACCUMULATION_FORMAT", c.accumulation_format);
  constexpr int64_t kOperandTag = 24;  // with the bit that tells channel parameters from operands
  const int64_t word_bytes = s.columns * kLaneBits / 8;
  ModuleParameters output;
  output.Set("DATA_BYTES", c.output_port_bytes).Set("MAX_BYTES", word_bytes).Set("TAG_BITS", 1);
  output.Set("OUTSTANDING", s.outstanding);
  std::vector<ModuleInstances> modules = {{"kiln_vector_unit", rest},
                                          ReadPort(c, c.operand_port_bytes, word_bytes, kOperandTag),
                                          {"kiln_write_channel", output}};
  for (const ModuleParameters& kind : {stage, scalar}) AddStages(c, kind, &modules);
  return {"vector unit", modules, {RowMemory(c)}};
}

UnitParts Head(const Config& c) {
  ModuleParameters p;
  p.Set("INSTRUCTION_BYTES_PER_CYCLE", c.instruction_bytes_per_cycle).Set("COMMAND_QUEUE_DEPTH", c.command_queue_depth);
  p.Set("PREFETCH_WORDS", c.memory_latency + 16);
  return {"command processor", {{"kiln_command_processor", p}}, {}};
}

// Of points that the model has not seen, where there are any.
const FitError& ErrorOf(const FittedModel& fitted) { return fitted.check.points > 0 ? fitted.check : fitted.fit; }

void AddAreas(const Config& config, Cost* cost) {
  const double scale = hardware::AreaScale(kAreaNode, cost->node_nm);
  double logic = 0, area = 0, error = 0;
  std::set<std::string> missing;
  for (const UnitParts& parts : UnitsOf(config)) {
    UnitArea unit{.unit = parts.unit};
    for (const ModuleInstances& module : parts.modules) {
      const ModuleModel* model = FindModuleModel(module.module, module.parameters);
      const FittedModel* fitted = model == nullptr ? nullptr : FindFit(*model);
      if (fitted == nullptr) {
        missing.emplace(model == nullptr ? module.module : model->name);
        continue;
      }
      const double modules = ModuleArea(module.module, module.parameters) * static_cast<double>(module.count);
      const FitError& fit = ErrorOf(*fitted);
      unit.logic += modules * scale;
      logic += modules;
      error += fit.mean * modules;
      cost->area_error_worst = std::max(cost->area_error_worst, fit.worst);
    }
    for (const Memories& memories : parts.memories) {
      unit.memory += hardware::MemoryArea(memories.bits, cost->node_nm) * static_cast<double>(memories.count);
      unit.memory_bits += memories.count * memories.bits;
    }
    area += unit.total();
    cost->units.push_back(std::move(unit));
  }
  cost->area_square_micrometres = area;
  cost->gate_equivalents = logic / kGateArea;
  cost->area_error = error / logic;
  cost->missing.assign(missing.begin(), missing.end());
}

// Energies of single events at the node.
struct EventEnergies {
  EventEnergies(const Config& c, int node_nm) : scale(hardware::EnergyScale(hardware::kEnergyNode, node_nm)) {
    multiply_accumulate = scale * (MultiplyEnergy(c.input_format, c.weight_format) + AddEnergy(SumFormat(c)));
    accumulate = scale * AddEnergy(c.quire ? SumFormat(c) : c.accumulation_format);
    if (c.block_size > 0) accumulate += 2 * scale * MultiplyEnergy(*FindFormat("fp32"), c.scale_format);
    register_bit = scale * RegisterEnergyPerBit();
  }
  // A quire's sum is an addition of that many bits of integers.
  static Format SumFormat(const Config& c) {
    if (!c.quire) return c.psum_format;
    Format wide = *FindFormat("int32");
    wide.bits = static_cast<int>(c.accumulator_bits());
    return wide;
  }
  double MemoryBit(const Memories& memories) const { return scale * MemoryEnergyPerBit(memories.bits); }
  double Operation(LaneOperation operation, const Format& format) const {
    const double add = AddEnergy(format), multiply = MultiplyEnergy(format, format);
    // A spline is two multiply-adds. A division is as many subtractions as a quotient has bits; a comparison is one of
    // integers.
    constexpr int kQuotientBits = 24;
    const double subtract = AddEnergy(*FindFormat("int32"));
    switch (operation) {
      case LaneOperation::kAdd:
        return scale * add;
      case LaneOperation::kMultiply:
        return scale * multiply;
      case LaneOperation::kMultiplyAdd:
        return scale * (multiply + add);
      case LaneOperation::kFunction:
        return scale * 2 * (multiply + add);
      case LaneOperation::kDivide:
        return scale * kQuotientBits * subtract;
      case LaneOperation::kCompare:
        return scale * subtract;
      case LaneOperation::kMove:
      case LaneOperation::kCount:
        break;
    }
    return 0;
  }

  double scale;
  double multiply_accumulate, accumulate, register_bit;
};

constexpr const char* kOperationNames[kLaneOperations] = {"addition", "multiplication", "multiply-add", "function",
                                                          "division", "comparison",     "move"};

std::string MultiplyAccumulateName(const Config& c) {
  return fmt::format("multiply-accumulate {} x {} + {}", c.input_format.name, c.weight_format.name,
                     c.quire ? fmt::format("quire of {} bits", c.accumulator_bits()) : c.psum_format.name);
}

// Bits that registers take in one cycle of the array: elements, and the skew of activations and sums.
int64_t ArrayRegisterBits(const Config& c) {
  const Sizes s(c);
  const int64_t psum_bits = c.quire ? c.accumulator_bits() : s.psum_bits;
  return s.rows * s.columns * (s.input_bits + psum_bits) + s.input_bits * s.rows * (s.rows - 1) / 2 +
         psum_bits * s.columns * (s.columns - 1) / 2;
}

void AddEvents(const Config& c, Cost* cost) {
  const EventEnergies energies(c, cost->node_nm);
  const auto add = [cost](std::string event, double picojoules) {
    cost->events.push_back({std::move(event), picojoules});
  };
  add(MultiplyAccumulateName(c), energies.multiply_accumulate);
  add(fmt::format("accumulation {}", c.quire ? "of a quire" : c.accumulation_format.name), energies.accumulate);
  add("register bit", energies.register_bit);
  add("input buffer bit", energies.MemoryBit(InputMemory(c)));
  add("weight buffer bit", energies.MemoryBit(WeightMemories(c)));
  add("accumulation buffer bit", energies.MemoryBit(AccumulationMemories(c)));
  for (size_t i = 0; i < kLaneOperations; ++i) {
    const auto operation = static_cast<LaneOperation>(i);
    if (operation == LaneOperation::kMove) continue;
    add(fmt::format("{} {} {}", "vector", kOperationNames[i], c.vector_format.name),
        energies.Operation(operation, c.vector_format));
  }
  add("outer memory byte", hardware::kOuterMemoryEnergyPerByte);
}

Status CheckNode(int node_nm) {
  if (hardware::IsTechnologyNode(node_nm)) return OkStatus();
  std::string nodes;
  for (const int node : hardware::TechnologyNodes()) nodes += (nodes.empty() ? "" : ", ") + std::to_string(node);
  return ErrorAt("", fmt::format("node of {} nm", node_nm),
                 "is not in the tables that areas and energies are scaled by", nodes);
}

}  // namespace

std::vector<UnitParts> UnitsOf(const Config& c) {
  std::vector<UnitParts> units = {Array(c), {"input buffer", {}, {InputMemory(c)}}, WeightBuffer(c), Accumulators(c)};
  if (c.block_size > 0) units.push_back(ScalesUnit(c));
  if (c.depthwise_multipliers > 0) units.push_back(Depthwise(c));
  for (auto* unit : {&InputFetch, &WeightFetch, &ParameterFetch, &Vector, &Head}) units.push_back(unit(c));
  return units;
}

StatusOr<Cost> CostOf(const Config& config, int node_nm) {
  KILN_RETURN_IF_ERROR(CheckNode(node_nm));
  Cost cost;
  cost.node_nm = node_nm;
  cost.multipliers = config.macs_per_cycle() + int64_t{config.lanes()} * config.depthwise_multipliers;
  cost.on_chip_memory_bits = 0;
  for (const UnitParts& unit : UnitsOf(config)) {
    for (const Memories& memories : unit.memories) cost.on_chip_memory_bits += memories.count * memories.bits;
  }
  AddEvents(config, &cost);
  if (config.quire) {
    cost.notes.emplace_back("no area: quires have not been synthesised");
    cost.source = fmt::format("{}; {}", hardware::kEnergySource, hardware::kScalingSource);
    return cost;
  }
  AddAreas(config, &cost);
  if (config.narrow_vector()) cost.notes.emplace_back("the vector unit's area is that of fp32");
  if (config.block_size > 0) cost.notes.emplace_back("without what fetches and writes block scales");
  cost.source = fmt::format("{}; memories after OpenRAM's sky130 macros; {}; {}", kAreaSource, hardware::kEnergySource,
                            hardware::kScalingSource);
  return cost;
}

StatusOr<Energy> EnergyOf(const Events& events, const Config& c, int node_nm) {
  KILN_RETURN_IF_ERROR(CheckNode(node_nm));
  const EventEnergies e(c, node_nm);
  Energy energy;
  energy.node_nm = node_nm;
  energy.source = fmt::format("{}; {}", hardware::kEnergySource, hardware::kScalingSource);
  const auto add = [&energy](const char* unit, std::string event, int64_t count, double each) {
    if (count > 0) energy.parts.push_back({unit, std::move(event), count, each});
  };
  const auto memory = [&](const char* unit, const char* event, const MemoryBits& bits, const Memories& memories) {
    add(unit, event, bits.read + bits.written, e.MemoryBit(memories));
  };
  add("array", "multiply-accumulates", events.multiply_accumulates, e.multiply_accumulate);
  add("array", "register bits",
      events.array_cycles * ArrayRegisterBits(c) + events.weights_loaded * kCodeRegisters * c.weight_format.bits,
      e.register_bit);
  memory("input buffer", "bits read and written", events.input_buffer, InputMemory(c));
  memory("weight buffer", "bits read and written", events.weight_buffer, WeightMemories(c));
  add("accumulators", "accumulations", events.accumulations, e.accumulate);
  memory("accumulators", "bits read and written", events.accumulators, AccumulationMemories(c));
  add("depthwise unit", "multiply-accumulates", events.depthwise_multiply_accumulates, e.multiply_accumulate);
  if (c.depthwise_multipliers > 0) {
    memory("depthwise unit", "input bits read and written", events.depthwise_inputs, DepthwiseInputMemories(c));
    memory("depthwise unit", "weight bits read and written", events.depthwise_weights, DepthwiseWeightMemories(c));
  }
  memory("channel parameters", "bits read and written", events.parameters, ParameterMemories(c));
  for (size_t i = 0; i < kLaneOperations; ++i) {
    const auto operation = static_cast<LaneOperation>(i);
    if (operation == LaneOperation::kMove) continue;
    add("vector unit", std::string(kOperationNames[i]) + "s", events.operations(operation),
        e.Operation(operation, c.vector_format));
  }
  add("vector unit", "register bits", events.lane_register_bits, e.register_bit);
  memory("vector unit", "row buffer bits read and written", events.row_buffer, RowMemory(c));
  add("outer memory", "bytes", events.bytes(), hardware::kOuterMemoryEnergyPerByte);
  return energy;
}

}  // namespace kiln::systolic
