// Lists the modules and memories of each unit, and multiplies counted events by their energies.

#include "kiln/targets/vta/cost/cost.h"

#include <string>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"
#include "kiln/support/integer.h"
#include "kiln/targets/vta/config/derived.h"
#include "kiln/targets/vta/config/keys.h"
#include "kiln/targets/vta/cost/area_model.h"

namespace kiln::vta {
namespace {

using hardware::AddEnergy;
using hardware::ModuleParameters;
using hardware::MultiplyEnergy;

// The bits of elements on chip.
struct Sizes {
  explicit Sizes(const Config& c)
      : uop(UopBits(c)),
        input(8 * c.input_element_bytes()),
        weight(8 * c.weight_element_bytes()),
        accumulator(8 * c.accumulator_element_bytes()),
        output(8 * c.output_element_bytes()),
        numbers(int64_t{c.batch} * c.block_out),
        products(int64_t{c.batch} * c.block_out * c.block_in),
        product_bits(c.input_bits + c.weight_bits),
        sum_bits(product_bits + CeilLog2(c.block_in)) {}
  int64_t uop, input, weight, accumulator, output;
  int64_t numbers;   // per accumulator element
  int64_t products;  // per step
  int64_t product_bits, sum_bits;
};

// The memories of each buffer. The micro-op buffer has three copies, because it has three readers:
// GEMM unit, ALU unit and dispatcher.
constexpr int64_t kUopCopies = 3;
MemoryInstances UopMemories(const Config& c) { return {kUopCopies, c.uops() * Sizes(c).uop}; }
MemoryInstances InputMemory(const Config& c) { return {1, c.inputs() * Sizes(c).input}; }
MemoryInstances WeightMemory(const Config& c) { return {1, c.weights() * Sizes(c).weight}; }
MemoryInstances AccumulatorMemories(const Config& c) {
  return {c.accumulator_banks, c.accumulators_of_bank() * Sizes(c).accumulator};
}
MemoryInstances OutputMemories(const Config& c) {
  return {c.accumulator_banks, c.accumulators_of_bank() * Sizes(c).output};
}
int64_t QueueWord(const Config& c, Stage stage) {
  return stage == Stage::kCompute ? ComputeQueueWordBits(c) : kQueueWordBits;
}
MemoryInstances Queue(const Config& c, Stage stage) {
  return {1, c.instruction_queue_depth * QueueWord(c, stage)};
}
constexpr Stage kAllStages[] = {Stage::kLoad, Stage::kCompute, Stage::kStore};

ModuleParameters Indices(const Config& c) {
  ModuleParameters p;
  p.Set("UOP_INDEX_BITS", c.uop_index_bits()).Set("INPUT_INDEX_BITS", c.input_index_bits());
  p.Set("WEIGHT_INDEX_BITS", c.weight_index_bits())
      .Set("ACCUMULATOR_INDEX_BITS", c.accumulator_index_bits());
  return p.Set("ACCUMULATOR_BANKS", c.accumulator_banks);
}
// Returns the parameters of the GEMM unit, the compute stage and the machine.
ModuleParameters Widths(const Config& c) {
  ModuleParameters p = Indices(c);
  p.Set("INPUT_BITS", c.input_bits)
      .Set("WEIGHT_BITS", c.weight_bits)
      .Set("ACCUMULATOR_BITS", c.accumulator_bits);
  p.Set("BATCH", c.batch).Set("BLOCK_IN", c.block_in).Set("BLOCK_OUT", c.block_out);
  return p.Set("MEMORY_PORT_BYTES", c.memory_port_bytes)
      .Set("INSTRUCTION_QUEUE_DEPTH", c.instruction_queue_depth);
}

UnitParts GemmUnit(const Config& c) {
  ModuleParameters dot;
  dot.Set("INPUT_BITS", c.input_bits).Set("WEIGHT_BITS", c.weight_bits).Set("BLOCK_IN", c.block_in);
  return {
      "GEMM unit",
      {{"kiln_vta_dot", dot, c.batch * CeilDivide(c.block_out, 2)}, {"kiln_vta_gemm", Widths(c)}},
      {}};
}
UnitParts AluUnit(const Config& c) {
  ModuleParameters p = Indices(c);
  p.Set("ACCUMULATOR_BITS", c.accumulator_bits).Set("NUMBERS", Sizes(c).numbers);
  return {"ALU", {{"kiln_vta_alu", p}}, {}};
}
UnitParts Accumulators(const Config& c) {
  ModuleParameters p;
  p.Set("ACCUMULATOR_BITS", c.accumulator_bits)
      .Set("OUTPUT_BITS", c.input_bits)
      .Set("NUMBERS", Sizes(c).numbers);
  p.Set("INDEX_BITS", c.accumulator_index_bits()).Set("BANKS", c.accumulator_banks);
  return {"accumulators", {{"kiln_vta_accumulators", p}}, {AccumulatorMemories(c)}};
}
UnitParts Transfers(const Config& c) {
  ModuleParameters load, store;
  load.Set("BYTES_BITS", RequestBytesBits(c));
  store.Set("OUTPUT_BYTES", c.output_element_bytes()).Set("INDEX_BITS", c.accumulator_index_bits());
  return {
      "load and store stage", {{"kiln_vta_load_stage", load}, {"kiln_vta_store_stage", store}}, {}};
}
UnitParts MemoryPort(const Config& c) {
  ModuleParameters reads, writes;
  reads.Set("MEMORY_PORT_BYTES", c.memory_port_bytes).Set("MEMORY_LATENCY", c.memory_latency);
  reads.Set("MAX_BYTES", LongestRequestBytes(c));
  writes.Set("ADDRESS_BITS", kAddressBits)
      .Set("DATA_BYTES", c.memory_port_bytes)
      .Set("TAG_BITS", kWriteTagBits);
  writes.Set("MAX_BYTES", c.output_element_bytes())
      .Set("OUTSTANDING", OutstandingRequests(c.memory_latency));
  return {"memory port", {{"kiln_vta_reads", reads}, {"kiln_axi_write_port", writes}}, {}};
}
UnitParts Fetch(const Config& c) {
  UnitParts fetch = {"fetch and queues", {{"kiln_vta_fetch", Indices(c)}}, {}};
  for (const Stage stage : kAllStages) fetch.memories.push_back(Queue(c, stage));
  return fetch;
}

Format Integer(int64_t bits) {
  Format format = *FindFormat("int32");
  format.bits = static_cast<int>(bits);
  return format;
}

// The energies of single events at a CMOS node, in picojoules.
struct EventEnergies {
  EventEnergies(const Config& c, int node_nm)
      : scale(hardware::EnergyScale(hardware::kEnergyNode, node_nm)) {
    const Sizes s(c);
    multiplication = scale * MultiplyEnergy(Integer(c.input_bits), Integer(c.weight_bits));
    product_addition = scale * AddEnergy(Integer(s.sum_bits));
    accumulation = scale * AddEnergy(Integer(c.accumulator_bits));
    alu_multiplication =
        scale * MultiplyEnergy(Integer(c.accumulator_bits), Integer(c.accumulator_bits));
    register_bit = scale * hardware::RegisterEnergyPerBit();
  }
  double MemoryBit(const MemoryInstances& memories) const {
    return scale * hardware::MemoryEnergyPerBit(memories.bits);
  }
  // Returns the energy of an ALU operation on one number. Comparisons and shifts count as
  // additions.
  double Operation(AluOp op) const {
    return op == AluOp::kMultiply ? alu_multiplication : accumulation;
  }

  double scale;
  double multiplication, product_addition, accumulation, alu_multiplication, register_bit;
};

constexpr std::pair<AluOp, const char*> kOperationNames[] = {{AluOp::kMin, "minimum"},
                                                             {AluOp::kMax, "maximum"},
                                                             {AluOp::kAdd, "addition"},
                                                             {AluOp::kShiftRight, "shift"},
                                                             {AluOp::kMultiply, "multiplication"}};
static_assert(std::size(kOperationNames) == kAluOps);

// The register bits that take new data in a step: in the GEMM unit the products, their sums, and
// two copies of the result; in the ALU three copies of the result and, if there are two operands,
// the one that is read first.
int64_t GemmRegisterBits(const Config& c) {
  const Sizes s(c);
  return s.products * s.product_bits + s.numbers * s.sum_bits + 2 * s.accumulator;
}
constexpr int64_t kAluElements = 3;

std::vector<EventEnergy> SingleEvents(const Config& c, int node_nm) {
  const EventEnergies e(c, node_nm);
  const Sizes s(c);
  std::vector<EventEnergy> events = {
      {fmt::format("multiplication int{} x int{}", c.input_bits, c.weight_bits), e.multiplication},
      {fmt::format("addition of products, {} bits", s.sum_bits), e.product_addition},
      {fmt::format("accumulation int{}", c.accumulator_bits), e.accumulation}};
  for (const auto& [op, name] : kOperationNames) {
    events.push_back({fmt::format("ALU {} int{}", name, c.accumulator_bits), e.Operation(op)});
  }
  events.push_back({"register bit", e.register_bit});
  events.push_back({"micro-op buffer bit", e.MemoryBit(UopMemories(c))});
  events.push_back({"input buffer bit", e.MemoryBit(InputMemory(c))});
  events.push_back({"weight buffer bit", e.MemoryBit(WeightMemory(c))});
  events.push_back({"accumulator bit", e.MemoryBit(AccumulatorMemories(c))});
  events.push_back({"output buffer bit", e.MemoryBit(OutputMemories(c))});
  events.push_back({"instruction queue bit", e.MemoryBit(Queue(c, Stage::kCompute))});
  events.push_back({"outer memory byte", hardware::kOuterMemoryEnergyPerByte});
  return events;
}

}  // namespace

std::vector<UnitParts> UnitsOf(const Config& c) {
  return {GemmUnit(c),
          AluUnit(c),
          Accumulators(c),
          {"output buffer", {}, {OutputMemories(c)}},
          {"input buffer", {}, {InputMemory(c)}},
          {"weight buffer", {}, {WeightMemory(c)}},
          {"micro-op buffer", {}, {UopMemories(c)}},
          {"dispatcher and loader", {{"kiln_vta_compute_stage", Widths(c)}}, {}},
          Transfers(c),
          MemoryPort(c),
          Fetch(c),
          {"control", {{"kiln_vta", Widths(c)}}, {}}};
}

StatusOr<Cost> CostOf(const Config& config, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Cost cost, CostAt(node_nm));
  const std::vector<UnitParts> units = UnitsOf(config);
  cost.multipliers = Sizes(config).products;
  cost.on_chip_memory_bits = MemoryBitsOf(units);
  cost.events = SingleEvents(config, node_nm);
  AddAreas(units, FamilyAreaModels(), &cost);
  cost.clock = ClockAt({"kiln_vta", Keys().HardwareKeys(config)}, node_nm);
  if (config.input_bits != 8 || config.weight_bits != 8 || config.accumulator_bits != 32) {
    cost.notes.emplace_back(
        "areas of other operands than int8 with sums of int32 are extrapolated");
  }
  return cost;
}

StatusOr<Energy> EnergyOf(const Events& events, const Config& c, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Energy energy, EnergyAt(node_nm));
  const EventEnergies e(c, node_nm);
  const Sizes s(c);
  const auto memory = [&](const char* unit, int64_t bits, const MemoryInstances& memories) {
    energy.Add(unit, "bits read and written", bits, e.MemoryBit(memories));
  };
  const int64_t alu_steps = events.all_alu_steps(), written = events.accumulators_written();

  energy.Add("GEMM unit", "multiplications", events.gemm_steps * s.products, e.multiplication);
  energy.Add("GEMM unit", "additions of products", events.gemm_steps * (s.products - s.numbers),
             e.product_addition);
  energy.Add("GEMM unit", "accumulations", events.gemm_steps * s.numbers, e.accumulation);
  energy.Add("GEMM unit", "register bits", events.gemm_steps * GemmRegisterBits(c), e.register_bit);
  for (const auto& [op, name] : kOperationNames) {
    energy.Add("ALU", fmt::format("{}s", name),
               events.alu_steps[static_cast<size_t>(op)] * s.numbers, e.Operation(op));
  }
  energy.Add(
      "ALU", "register bits",
      (kAluElements * (alu_steps + events.reset_steps) + events.second_operands) * s.accumulator,
      e.register_bit);
  memory("accumulators",
         (events.gemm_steps + events.reset_steps + alu_steps + events.second_operands + written) *
             s.accumulator,
         AccumulatorMemories(c));
  memory("output buffer", (written + events.outputs_stored) * s.output, OutputMemories(c));
  memory("input buffer", (events.gemm_steps + events.inputs_loaded) * s.input, InputMemory(c));
  memory("weight buffer", (events.gemm_steps + events.weights_loaded) * s.weight, WeightMemory(c));
  memory("micro-op buffer", (events.uops_read() + kUopCopies * events.uops_loaded) * s.uop,
         UopMemories(c));
  energy.Add("memory port", "register bits", 8 * events.bytes(), e.register_bit);
  energy.Add("fetch and queues", "register bits", events.all_instructions() * kInstructionBits,
             e.register_bit);
  for (const Stage stage : kAllStages) {
    energy.Add("fetch and queues",
               fmt::format("bits of the {} queue read and written", NameOf(stage)),
               2 * events.instructions[static_cast<size_t>(stage)] * QueueWord(c, stage),
               e.MemoryBit(Queue(c, stage)));
  }
  energy.Add("outer memory", "bytes", events.bytes(), hardware::kOuterMemoryEnergyPerByte);
  return energy;
}

}  // namespace kiln::vta
