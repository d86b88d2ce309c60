// Area and energy of a design point: the modules and memories of each unit, and the energy of each
// event.
#include "kiln/targets/systolic/cost/cost.h"

#include <algorithm>
#include <bit>
#include <string>

#include "fmt/format.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/config/keys.h"
#include "kiln/targets/systolic/cost/area_counts.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {
namespace {

using hardware::AddEnergy;
using hardware::MemoryEnergyPerBit;
using hardware::MultiplyEnergy;
using hardware::RegisterEnergyPerBit;

constexpr int64_t kLaneBits = 32, kCodeRegisters = 2;   // of a weight: shadow and array
constexpr int kOperand0 = 0b001, kAllOperands = 0b111;  // bits of CARRIES_OPERANDS

// Sizes that several units use.
struct Sizes {
  explicit Sizes(const Config& c)
      : rows(c.array_rows),
        columns(c.array_columns),
        tiles(WeightTiles(c)),
        input_bits(c.input_bits()),
        weight_bits(c.weight_bits()),
        psum_bits(c.psum_format.bits),
        input_word(rows * input_bits),
        accumulation_word(columns * c.accumulator_bits()) {}
  int64_t rows, columns, tiles;
  int64_t input_bits, weight_bits, psum_bits;
  int64_t input_word, accumulation_word;
};

// Return the memories of each buffer; all memories of a buffer have the same size.
Memories InputMemory(const Config& c) {
  return {1, 2 * int64_t{c.input_buffer_words} * Sizes(c).input_word};
}
Memories WeightMemories(const Config& c) {
  const Sizes s(c);
  const int64_t steps = s.rows / c.weight_rows_per_cycle;
  const int64_t codes = 2 * s.tiles * std::min(steps, s.columns);
  return {c.weight_rows_per_cycle * std::max(steps, s.columns), codes * s.weight_bits};
}
Memories AccumulationMemories(const Config& c) {
  return {c.accumulation_buffer_banks,
          int64_t{c.accumulation_buffer_words} * Sizes(c).accumulation_word};
}
Memories DepthwiseInputMemories(const Config& c) {
  const int64_t words = 2 * CeilDivide(c.depthwise_buffer_words, c.depthwise_words_per_cycle);
  return {c.depthwise_multipliers * c.depthwise_words_per_cycle,
          words * c.lanes() * c.input_format.bits};
}
Memories DepthwiseWeightMemories(const Config& c) {
  const int64_t steps = CeilDivide(c.weight_buffer_words, std::max(c.depthwise_multipliers, 1));
  return {c.depthwise_multipliers, 2 * steps * c.lanes() * c.weight_format.bits};
}
Memories ParameterMemories(const Config& c) {
  return {3, int64_t{c.parameter_buffer_words} * c.array_columns * kLaneBits};
}
Memories RowMemory(const Config& c) {
  return {1, int64_t{c.vector_row_buffer_words} * c.lanes() *
                 static_cast<int64_t>(NumberBits(c.vector_format))};
}
// The operand buffer holds the words of each operand, and beside the first one's a factor.
int64_t OperandMemoryBits(const Config& c, int64_t numbers) {
  return OperandEntries(c) * numbers * static_cast<int64_t>(NumberBits(c.vector_format));
}
Memories OperandMemories(const Config& c) {  // those of the other operands
  return {kMaxOperands - 1, OperandMemoryBits(c, c.lanes())};
}

// The configurations of a stage, for each pass of each program, and those of a scalar stage.
Memories StageMemories(const Config& c) {
  const auto number = static_cast<int64_t>(NumberBits(c.vector_format));
  return {2 * int64_t{c.vector_stages},
          ProgramSlots(c) * kMaxPasses * (kStageControlBits + 2 * number)};
}
// What is known of words before they enter the lanes, and while they are there.
std::vector<Memories> WordMemories(const Config& c) {
  const int64_t waiting = c.operand_buffer_words, in_lanes = WordsInLanes(c);
  constexpr int64_t kLengthBits = 32, kBeatBits = 16;
  constexpr int64_t kCompletionBits = 32, kScaleCountBits = 16;
  const bool blocks = c.block_size > 0;
  const int64_t copies = CeilDivide(c.lanes(), LanesOfCopy(c));
  const int64_t inverse = InverseBits(c, static_cast<int64_t>(NumberBits(c.vector_format)));
  std::vector<Memories> memories = {
      {1, OperandEntries(c) * (kWordBits + (blocks ? kMarkBits : 0))},
      {1, (waiting + 2) * kLengthBits},
      {1, in_lanes * kDepartureBits},
      {1, ProgramSlots(c) * (kCompletionBits + (blocks ? kScaleCountBits : 0))},
      {1, ProgramSlots(c) * (TargetBits(c) + (copies == 1 ? inverse : 0))}};
  if (copies > 1) memories.push_back({copies, ProgramSlots(c) * inverse});
  if (blocks) {
    memories.push_back({1, (waiting + 2) * kBeatBits});
    memories.push_back({1, in_lanes * kMarkBits});
    memories.push_back({1, WaitingWords(c) * WaitingWordBits(c, static_cast<int64_t>(
                                                                    NumberBits(c.vector_format)))});
  }
  return memories;
}

ModuleParameters FormatsOf(const Config& c) {
  ModuleParameters p;
  p.Set("INPUT_FORMAT", c.input_format)
      .Set("WEIGHT_FORMAT", c.weight_format)
      .Set("PSUM_FORMAT", c.psum_format);
  p.Set("PRECISIONS", c.precisions());
  for (int i = 1; i < c.precisions(); ++i) {
    p.Set(fmt::format("INPUT_FORMAT_{}", i), c.input_format_of(i));
    p.Set(fmt::format("WEIGHT_FORMAT_{}", i), c.weight_format_of(i));
  }
  return p.Set("PRODUCT_ROUNDED", c.product_rounded ? 1 : 0);
}

// Returns the same parameters with the widest codes, for modules that store or move codes of all
// precisions.
ModuleParameters WidestFormatsOf(const Config& c) {
  ModuleParameters p = FormatsOf(c);
  for (const OperandFormats& pair : c.other_precisions) {
    if (pair.input.bits == c.input_bits()) p.Set("INPUT_FORMAT", pair.input);
    if (pair.weight.bits == c.weight_bits()) p.Set("WEIGHT_FORMAT", pair.weight);
  }
  return p;
}

// A processing element with several precisions is counted as one element for each, including the
// registers; these account for the selection among the sums, and overestimate it.
std::vector<ModuleInstances> Elements(const Config& c) {
  std::vector<ModuleInstances> elements;
  for (int p = 0; p < c.precisions(); ++p) {
    ModuleParameters element = FormatsOf(AtPrecision(c, p));
    element.Set("PRODUCT_LATENCY", c.array_product_latency);
    element.Set("SUM_LATENCY", c.array_sum_latency);
    elements.push_back({"kiln_processing_element", element, c.macs_per_cycle()});
  }
  return elements;
}

// Adds a read port, with its memory of the requests in flight.
void AddReadPort(const Config& c, int64_t port_bytes, int64_t word_bytes, int64_t tag_bits,
                 UnitParts* unit) {
  ModuleParameters p;
  p.Set("DATA_BYTES", port_bytes).Set("MAX_BYTES", word_bytes).Set("TAG_BITS", tag_bits);
  p.Set("OUTSTANDING", OutstandingRequests(c));
  unit->modules.push_back({"kiln_read_channel", p});
  unit->memories.push_back(
      {1, OutstandingRequests(c) * RequestBits(port_bytes, word_bytes, tag_bits)});
}

UnitParts Array(const Config& c) {
  ModuleParameters skew = WidestFormatsOf(c);
  skew.Set("ARRAY_ROWS", c.array_rows).Set("ARRAY_COLUMNS", c.array_columns);
  skew.Set("WEIGHT_ROWS_PER_CYCLE", c.weight_rows_per_cycle);
  skew.Set("PRODUCT_LATENCY", c.array_product_latency).Set("SUM_LATENCY", c.array_sum_latency);
  ModuleParameters sequencer = skew;
  sequencer.Set("INPUT_BUFFER_WORDS", c.input_buffer_words);
  sequencer.Set("ACCUMULATION_BUFFER_WORDS", c.accumulation_buffer_words);
  UnitParts array = {"array", Elements(c), {}};
  array.modules.push_back({"kiln_systolic_array", skew});
  array.modules.push_back({"kiln_array_sequencer", sequencer});
  return array;
}

UnitParts WeightBuffer(const Config& c) {
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows)
      .Set("ARRAY_COLUMNS", c.array_columns)
      .Set("CODE_BITS", c.weight_bits());
  p.Set("WEIGHT_ROWS_PER_CYCLE", c.weight_rows_per_cycle)
      .Set("WEIGHT_BUFFER_WORDS", c.weight_buffer_words);
  return {
      "weight buffer", {{"kiln_weight_buffer", p}, {"kiln_weight_loader", p}}, {WeightMemories(c)}};
}

UnitParts Accumulators(const Config& c) {
  ModuleParameters p = FormatsOf(c);
  p.Set("ARRAY_COLUMNS", c.array_columns)
      .Set("ACCUMULATION_BUFFER_BANKS", c.accumulation_buffer_banks);
  p.Set("ACCUMULATION_FORMAT", c.accumulation_format).Set("SCALED", c.block_size > 0 ? 1 : 0);
  p.Set("SCALE_FORMAT", c.scale_format).Set("ACCUMULATION_LATENCY", c.accumulation_latency);
  p.Set("DEPTHWISE", c.depthwise_multipliers > 0 ? 1 : 0);
  return {"accumulators", {{"kiln_accumulation_buffer", p}}, {AccumulationMemories(c)}};
}

UnitParts ScalesUnit(const Config& c) {
  const int64_t tiles = WeightTiles(c);
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows)
      .Set("ARRAY_COLUMNS", c.array_columns)
      .Set("SCALE_FORMAT", c.scale_format);
  p.Set("WEIGHT_ROWS_PER_CYCLE", c.weight_rows_per_cycle);
  const int64_t bits = c.scale_format.bits;
  // Ports that move one scale per beat: for inputs, weights, operands and results.
  const int64_t scale_bytes = c.scale_format.bytes();
  ModuleParameters results;
  results.Set("DATA_BYTES", kScalePortBytes).Set("MAX_BYTES", scale_bytes).Set("TAG_BITS", 1);
  results.Set("OUTSTANDING", OutstandingRequests(c));
  UnitParts unit = {
      "block scales",
      {{"kiln_block_scales", p}, {"kiln_write_channel", results}},
      {{1, 2 * int64_t{c.input_buffer_words} * (bits + 1)}, {c.array_columns, 2 * tiles * bits}}};
  for (const int tag_bits : {InputScaleTagBits(c), WeightScaleTagBits(c), kOperandScaleTagBits})
    AddReadPort(c, kScalePortBytes, scale_bytes, tag_bits, &unit);
  return unit;
}

UnitParts Depthwise(const Config& c) {
  ModuleParameters p = FormatsOf(c);
  p.Set("ARRAY_COLUMNS", c.array_columns).Set("DEPTHWISE_MULTIPLIERS", c.depthwise_multipliers);
  p.Set("DEPTHWISE_SUM_LATENCY", c.depthwise_sum_latency);
  std::vector<ModuleInstances> modules = {{"kiln_depthwise_cluster", p}};
  if (c.user_unit != nullptr) modules.push_back({"kiln_user_unit", p, c.lanes()});
  return {"depthwise unit", modules, {DepthwiseInputMemories(c), DepthwiseWeightMemories(c)}};
}

// Return the fetch units and their ports; tags have the sizes of kiln_systolic.
UnitParts InputFetch(const Config& c) {
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows)
      .Set("ARRAY_COLUMNS", c.array_columns)
      .Set("INPUT_BITS", c.input_bits());
  p.Set("BLOCK_SIZE", c.block_size);
  UnitParts unit = {"input fetch", {{"kiln_input_fetch", p}}, {}};
  AddReadPort(c, c.input_port_bytes, InputRequestBytes(c), InputTagBits(c), &unit);
  return unit;
}
UnitParts WeightFetch(const Config& c) {
  ModuleParameters p;
  p.Set("ARRAY_ROWS", c.array_rows)
      .Set("ARRAY_COLUMNS", c.array_columns)
      .Set("WEIGHT_BITS", c.weight_bits());
  p.Set("BLOCK_SIZE", c.block_size);
  UnitParts unit = {"weight fetch", {{"kiln_weight_fetch", p}}, {}};
  AddReadPort(c, c.weight_port_bytes, WeightRequestBytes(c), WeightTagBits(c), &unit);
  return unit;
}
UnitParts ParameterFetch(const Config& c) {
  ModuleParameters p;
  p.Set("ARRAY_COLUMNS", c.array_columns);
  return {"channel parameters", {{"kiln_parameter_fetch", p}}, {ParameterMemories(c)}};
}

// Sets what registers carry along a word.
ModuleParameters Carrying(ModuleParameters registers, bool value, bool saved, int operands) {
  return registers.Set("CARRIES_VALUE", value ? 1 : 0)
      .Set("CARRIES_SAVED", saved ? 1 : 0)
      .Set("CARRIES_OPERANDS", operands);
}

// Adds the stages of the lanes, or the scalar stages, which have one lane. Lanes are grouped by
// whether they have functions and a divider.
void AddStages(const Config& c, bool scalar, std::vector<ModuleInstances>* modules) {
  const int64_t lanes = scalar ? 1 : c.lanes();
  ModuleParameters stage;
  stage.Set("LANES", lanes).Set("LATENCY", c.vector_stage_latency).Set("SLOTS", ProgramSlots(c));
  stage.Set("ROWS", c.vector_rows_in_flight).Set("VECTOR_FORMAT", c.vector_format);
  modules->push_back({"kiln_vector_stage", stage, c.vector_stages});
  for (const bool functions : {true, false}) {
    for (const bool divider : {true, false}) {
      const uint32_t stages = StagesWith(c, functions, divider);
      if (stages == 0) continue;
      ModuleParameters lane = stage;
      if (functions || divider)
        lane.Set("LATENCY", c.vector_stage_latency + c.vector_function_latency);
      // Nothing is carried behind the last stage and behind scalar stages.
      const int last =
          scalar ? std::popcount(stages) : static_cast<int>(stages >> (c.vector_stages - 1) & 1);
      modules->push_back({"kiln_vector_registers", Carrying(lane, false, true, kAllOperands),
                          std::popcount(stages) - last});
      modules->push_back({"kiln_vector_registers", Carrying(lane, false, false, 0), last});
      lane.Set("HAS_FUNCTIONS", functions ? 1 : 0).Set("HAS_DIVIDER", divider ? 1 : 0);
      modules->push_back({"kiln_vector_lane", lane, lanes * std::popcount(stages)});
      if (!functions) continue;
      const bool is_short = IsShortFloat(c.vector_format);
      modules->push_back(
          {is_short ? "kiln_function" : "kiln_spline", lane, lanes * std::popcount(stages)});
    }
  }
}

// Returns the lanes, their source, and the stages for the scalars that rows are reduced to.
std::vector<ModuleInstances> LaneModules(const Config& c) {
  ModuleParameters p;
  p.Set("LANES", c.lanes())
      .Set("LATENCY", c.vector_stage_latency)
      .Set("VECTOR_FORMAT", c.vector_format);
  p.Set("ROWS", c.vector_rows_in_flight).Set("SCALAR_STAGES", c.vector_stages);
  p.Set("CONVERT", c.vector_convert_latency);
  p.Set("ACCUMULATION_FORMAT", c.accumulation_format);
  std::vector<ModuleInstances> modules = {
      {"kiln_vector_source", p},
      {"kiln_vector_registers", Carrying(p, false, false, kOperand0)},
      {"kiln_reduction", p}};
  for (int64_t nodes = std::bit_ceil(static_cast<uint64_t>(c.lanes())) / 2; nodes > 0; nodes /= 2) {
    const ModuleParameters level = ModuleParameters(p).Set("LANES", nodes);
    modules.push_back({"kiln_vector_registers", Carrying(level, true, false, 0)});
  }
  AddStages(c, /*scalar=*/false, &modules);
  AddStages(c, /*scalar=*/true, &modules);
  return modules;
}

UnitParts Vector(const Config& c) {
  ModuleParameters p = FormatsOf(c);
  p.Set("ARRAY_COLUMNS", c.array_columns)
      .Set("LANES", c.lanes())
      .Set("VECTOR_STAGES", c.vector_stages);
  p.Set("SLOTS", ProgramSlots(c))
      .Set("VECTOR_STAGE_LATENCY", c.vector_stage_latency)
      .Set("LATENCY", c.vector_stage_latency);
  p.Set("WORDS", OperandEntries(c))
      .Set("VECTOR_FORMAT", c.vector_format)
      .Set("BLOCK_SIZE", c.block_size);
  p.Set("BLOCKS", c.block_size > 0 ? 1 : 0).Set("SCALE_FORMAT", c.scale_format);
  p.Set("ELEMENT_FORMAT", c.input_format).Set("OUTPUT_PORT_BYTES", c.output_port_bytes);
  p.Set("INTEGER_ELEMENTS", c.integer_elements ? 1 : 0);
  const int64_t inverse = InverseBits(c, static_cast<int64_t>(NumberBits(c.vector_format)));
  p.Set("SCALE", inverse).Set("INVERSE", inverse);
  p.Set("CONVERT", c.vector_convert_latency)
      .Set("REGISTERS", c.vector_stage_latency - 1 + c.vector_convert_latency);
  const int64_t word_bytes = VectorWordBytes(c);
  ModuleParameters output;
  output.Set("DATA_BYTES", c.output_port_bytes).Set("MAX_BYTES", word_bytes).Set("TAG_BITS", 1);
  output.Set("OUTSTANDING", OutstandingRequests(c));
  std::vector<ModuleInstances> modules = {
      {"kiln_vector_unit", p},
      {"kiln_vector_issue", p},
      {"kiln_operand_buffer", p},
      {"kiln_operand_decoder", p, c.lanes()},
      {IsShortFloat(c.vector_format) ? "kiln_short_quantiser" : "kiln_quantiser", p, c.lanes()},
      {"kiln_write_channel", output}};
  if (c.block_size > 0) modules.push_back({"kiln_vector_blocks", p});
  for (ModuleInstances& module : LaneModules(c)) modules.push_back(std::move(module));
  std::vector<Memories> memories = WordMemories(c);
  memories.insert(memories.end(), {RowMemory(c),
                                   StageMemories(c),
                                   OperandMemories(c),
                                   {1, OperandMemoryBits(c, c.lanes() + 1)}});
  UnitParts unit = {"vector unit", modules, memories};
  AddReadPort(c, c.operand_port_bytes, word_bytes, OperandPortTagBits(c), &unit);
  return unit;
}

UnitParts Head(const Config& c) {
  ModuleParameters p;
  p.Set("INSTRUCTION_BYTES_PER_CYCLE", c.instruction_bytes_per_cycle)
      .Set("COMMAND_QUEUE_DEPTH", c.command_queue_depth);
  p.Set("PREFETCH_WORDS", PrefetchWords(c)).Set("BLOCK_SIZE", c.block_size);
  p.Set("INTEGER_ELEMENTS", c.integer_elements ? 1 : 0);
  p.Set("SCALE_BITS", static_cast<int64_t>(NumberBits(FactorFormat(c))));
  return {"command processor",
          {{"kiln_command_processor", p}},
          {{1, PrefetchWords(c) * kInstructionWordBytes * 8}, {1, kCounterWords * kCounterBits}}};
}

// Energies of single events at the node, in picojoules.
struct EventEnergies {
  EventEnergies(const Config& c, int node_nm)
      : scale(hardware::EnergyScale(hardware::kEnergyNode, node_nm)) {
    for (int p = 0; p < c.precisions(); ++p) {
      multiply_accumulates.push_back(
          scale *
          (MultiplyEnergy(c.input_format_of(p), c.weight_format_of(p)) + AddEnergy(SumFormat(c))));
    }
    accumulate = scale * AddEnergy(c.quire ? SumFormat(c) : c.accumulation_format);
    if (c.block_size > 0)
      accumulate += 2 * scale * MultiplyEnergy(*FindFormat("fp32"), c.scale_format);
    register_bit = scale * RegisterEnergyPerBit();
  }
  // Returns the format of a sum. Adding to a quire counts as an integer addition of the quire's
  // width.
  static Format SumFormat(const Config& c) {
    if (!c.quire) return c.psum_format;
    Format wide = *FindFormat("int32");
    wide.bits = static_cast<int>(c.accumulator_bits());
    return wide;
  }
  double MemoryBit(const Memories& memories) const {
    return scale * MemoryEnergyPerBit(memories.bits);
  }
  double Operation(LaneOperation operation, const Format& format) const {
    const double add = AddEnergy(format), multiply = MultiplyEnergy(format, format);
    // A spline is two multiply-adds, a division is one subtraction for each bit of the quotient,
    // and a comparison is an integer subtraction.
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
  std::vector<double> multiply_accumulates;  // one for each precision
  double accumulate, register_bit;
};

constexpr const char* kOperationNames[kLaneOperations] = {
    "addition", "multiplication", "multiply-add", "function", "division", "comparison", "move"};

std::string MultiplyAccumulateName(const Config& c, int precision) {
  return fmt::format(
      "multiply-accumulate {} x {} + {}", c.input_format_of(precision).name,
      c.weight_format_of(precision).name,
      c.quire ? fmt::format("quire of {} bits", c.accumulator_bits()) : c.psum_format.name);
}

// Returns the register bits that are written in one cycle of the array: the processing elements,
// and the skew of activations and sums.
int64_t ArrayRegisterBits(const Config& c) {
  const Sizes s(c);
  const int64_t psum_bits = c.quire ? c.accumulator_bits() : s.psum_bits;
  return s.rows * s.columns * (s.input_bits + psum_bits) +
         s.input_bits * s.rows * (s.rows - 1) / 2 + psum_bits * s.columns * (s.columns - 1) / 2;
}

void AddEvents(const Config& c, Cost* cost) {
  const EventEnergies energies(c, cost->node_nm);
  const auto add = [cost](std::string event, double picojoules) {
    cost->events.push_back({std::move(event), picojoules});
  };
  for (int p = 0; p < c.precisions(); ++p) {
    add(MultiplyAccumulateName(c, p), energies.multiply_accumulates[static_cast<size_t>(p)]);
  }
  add(fmt::format("accumulation {}", c.quire ? "of a quire" : c.accumulation_format.name),
      energies.accumulate);
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

}  // namespace

std::vector<UnitParts> UnitsOf(const Config& c) {
  std::vector<UnitParts> units = {
      Array(c), {"input buffer", {}, {InputMemory(c)}}, WeightBuffer(c), Accumulators(c)};
  if (c.block_size > 0) units.push_back(ScalesUnit(c));
  if (c.depthwise_multipliers > 0) units.push_back(Depthwise(c));
  for (auto* unit : {&InputFetch, &WeightFetch, &ParameterFetch, &Vector, &Head})
    units.push_back(unit(c));
  if (c.shared_bus)
    units.push_back({"shared bus", {{"kiln_bus_turns", {}}}, {}});  // has no area model yet
  return units;
}

StatusOr<Cost> CostOf(const Config& config, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Cost cost, CostAt(node_nm));
  const std::vector<UnitParts> units = UnitsOf(config);
  cost.multipliers =
      config.macs_per_cycle() + int64_t{config.lanes()} * config.depthwise_multipliers;
  cost.on_chip_memory_bits = MemoryBitsOf(units);
  AddEvents(config, &cost);
  cost.clock = ClockAt({"kiln_systolic", Keys().HardwareKeys(config)}, node_nm);
  if (config.quire) {
    cost.notes.emplace_back("no area: quires have not been synthesised");
    return cost;
  }
  AddAreas(units, FamilyAreaModels(), &cost);
  if (config.depthwise_words_per_cycle > 1) {
    cost.notes.emplace_back(
        "the area is without what spreads a beat's words over the depthwise unit's memories");
  }
  return cost;
}

StatusOr<Energy> EnergyOf(const Events& events, const Config& c, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Energy energy, EnergyAt(node_nm));
  const EventEnergies e(c, node_nm);
  const auto memory = [&](const char* unit, const char* event, const MemoryBits& bits,
                          const Memories& memories) {
    energy.Add(unit, event, bits.read + bits.written, e.MemoryBit(memories));
  };
  for (size_t p = 0; p < e.multiply_accumulates.size(); ++p) {
    std::string event = "multiply-accumulates";
    if (c.precisions() > 1) {
      const auto precision = static_cast<int>(p);
      event += fmt::format(" {} x {}", c.input_format_of(precision).name,
                           c.weight_format_of(precision).name);
    }
    energy.Add("array", std::move(event), events.precision_accumulates[p],
               e.multiply_accumulates[p]);
  }
  energy.Add("array", "register bits",
             events.array_cycles * ArrayRegisterBits(c) +
                 events.weights_loaded * kCodeRegisters * c.weight_bits(),
             e.register_bit);
  memory("input buffer", "bits read and written", events.input_buffer, InputMemory(c));
  memory("weight buffer", "bits read and written", events.weight_buffer, WeightMemories(c));
  energy.Add("accumulators", "accumulations", events.accumulations, e.accumulate);
  memory("accumulators", "bits read and written", events.accumulators, AccumulationMemories(c));
  energy.Add("depthwise unit", "multiply-accumulates", events.depthwise_multiply_accumulates,
             e.multiply_accumulates[0]);
  if (c.depthwise_multipliers > 0) {
    memory("depthwise unit", "input bits read and written", events.depthwise_inputs,
           DepthwiseInputMemories(c));
    memory("depthwise unit", "weight bits read and written", events.depthwise_weights,
           DepthwiseWeightMemories(c));
  }
  memory("channel parameters", "bits read and written", events.parameters, ParameterMemories(c));
  for (size_t i = 0; i < kLaneOperations; ++i) {
    const auto operation = static_cast<LaneOperation>(i);
    if (operation == LaneOperation::kMove) continue;
    energy.Add("vector unit", std::string(kOperationNames[i]) + "s", events.operations(operation),
               e.Operation(operation, c.vector_format));
  }
  energy.Add("vector unit", "register bits", events.lane_register_bits, e.register_bit);
  memory("vector unit", "row buffer bits read and written", events.row_buffer, RowMemory(c));
  memory("vector unit", "operand buffer bits read and written", events.operand_buffer,
         OperandMemories(c));
  energy.Add("outer memory", "bytes", events.bytes(), hardware::kOuterMemoryEnergyPerByte);
  return energy;
}

}  // namespace kiln::systolic
