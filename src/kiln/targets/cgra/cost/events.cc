// Counts what the entries of spoke RAMs do in every thread, and gives it the energies of
// hardware/energy.h.

#include "kiln/targets/cgra/cost/events.h"

#include <bit>
#include <cstdlib>

#include "fmt/format.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"
#include "kiln/numerics/format.h"
#include "kiln/targets/cgra/cost/cost.h"
#include "kiln/targets/cgra/isa/derived.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::cgra {
namespace {

// Energies of single events, in pJ at a node.
struct EventTable {
  double integer_product = 0, float_product = 0, integer_logic = 0, float_logic = 0;
  double memory_vector = 0, line_write = 0, line_read = 0, hop = 0, instruction = 0, entry = 0,
         beat = 0;
};

EventTable TableFor(const Config& config, int node_nm) {
  const double scale = hardware::EnergyScale(hardware::kEnergyNode, node_nm);
  const Format int32 = *FindFormat("int32"), fp32 = *FindFormat("fp32");
  const double lanes = config.lanes, width = 32 * lanes;
  EventTable table;
  table.integer_product = lanes * hardware::MultiplyEnergy(int32, int32) * scale;
  table.float_product = lanes * hardware::MultiplyEnergy(fp32, fp32) * scale;
  table.integer_logic = lanes * hardware::AddEnergy(int32) * scale;
  table.float_logic = lanes * hardware::AddEnergy(fp32) * scale;
  table.memory_vector =
      width * hardware::MemoryEnergyPerBit(int64_t{config.memory_depth} * 32 * config.lanes) *
      scale;
  const int64_t line_bits = int64_t{config.wait_limit + 1} * 32 * config.lanes;
  // A message is written once for each of the three operands that may read it.
  table.line_read = width * hardware::MemoryEnergyPerBit(line_bits) * scale;
  table.line_write = 3 * table.line_read;
  table.hop = width * hardware::RegisterEnergyPerBit() * scale;
  table.instruction =
      (kInstructionBits *
           hardware::MemoryEnergyPerBit(int64_t{config.instruction_depth} * kInstructionBits) +
       kSpokeBits * hardware::MemoryEnergyPerBit(int64_t{config.spoke_depth} * kSpokeBits)) *
      scale;
  table.entry = kDeliveryBits *
                hardware::MemoryEnergyPerBit(int64_t{kDeliveryEntries} * kDeliveryBits) * scale;
  table.beat = hardware::kOuterMemoryEnergyPerByte * 4 * lanes;
  return table;
}

bool IsFloat(LogicOp op) {
  return op == LogicOp::kFloatAdd || op == LogicOp::kFloatSubtract ||
         op == LogicOp::kFloatReverseSubtract;
}

// Adds the events of one instruction, once.
void Count(const InstructionEntry& entry, const SpokeEntry& spoke, const Config& config,
           LaunchEvents* events) {
  ++events->instructions;
  if (entry.multiply == MultiplyOp::kMultiply) ++events->integer_products;
  if (entry.multiply == MultiplyOp::kFloatMultiply) ++events->float_products;
  const bool shifts = entry.multiply == MultiplyOp::kShiftLeft ||
                      entry.multiply == MultiplyOp::kShiftRight ||
                      entry.multiply == MultiplyOp::kShiftArithmetic;
  if (shifts) ++events->integer_logic;
  if (IsFloat(entry.logic)) ++events->float_logic;
  if (entry.logic != LogicOp::kPass && !IsFloat(entry.logic)) ++events->integer_logic;
  bool reads_memory[2] = {false, false};
  for (const Operand& operand : entry.in) {
    if (operand.kind == OperandKind::kMessage) ++events->line_reads;
    if (operand.kind == OperandKind::kMemory0) reads_memory[0] = true;
    if (operand.kind == OperandKind::kMemory1) reads_memory[1] = true;
  }
  for (const bool reads : reads_memory) events->memory_reads += reads ? 1 : 0;
  ++events->line_writes;  // the tile's own results
  for (int link = 0; link < LinksOf(config); ++link) {
    if ((spoke.links >> link & 1) == 0) continue;
    events->hops += std::abs(OffsetOf(config, link));
    ++events->line_writes;
  }
}

}  // namespace

LaunchEvents EventsOf(const LaunchWork& work) {
  const CgraProgram& program = *work.program;
  LaunchEvents events;
  for (const TileProgram& tile : program.tiles) {
    for (const SpokeEntry& spoke : tile.spokes) {
      if (!spoke.valid) continue;
      Count(tile.instructions[static_cast<size_t>(spoke.instruction)], spoke, program.config,
            &events);
    }
  }
  events.memory_writes = std::ssize(program.deliveries);
  events.beats_in = std::ssize(program.beats);
  const int64_t threads = work.runs * work.threads;
  for (int64_t LaunchEvents::* count :
       {&LaunchEvents::integer_products, &LaunchEvents::float_products,
        &LaunchEvents::integer_logic, &LaunchEvents::float_logic, &LaunchEvents::memory_reads,
        &LaunchEvents::memory_writes, &LaunchEvents::line_writes, &LaunchEvents::line_reads,
        &LaunchEvents::hops, &LaunchEvents::instructions, &LaunchEvents::beats_in}) {
    events.*count *= threads;
  }
  constexpr int64_t kRunBeats = 2;  // header and parameters
  events.beats_in += work.runs * kRunBeats + LoadBeats(program);
  events.memory_writes += std::ssize(program.contents);
  events.beats_out = work.runs * (work.threads - work.first_sent) * std::ssize(program.outputs);
  return events;
}

std::vector<EventEnergy> EventsOf(const Config& config, int node_nm) {
  const EventTable table = TableFor(config, node_nm);
  std::vector<EventEnergy> events = {
      {fmt::format("{} products of int32", config.lanes), table.integer_product},
      {fmt::format("{} operations of int32", config.lanes), table.integer_logic},
      {"vector of a tile memory", table.memory_vector},
      {"message written to a delay line", table.line_write},
      {"message read from a delay line", table.line_read},
      {"message over one tile", table.hop},
      {"instruction fetched", table.instruction},
      {"entry of the delivery table", table.entry},
      {"beat of a stream", table.beat},
  };
  if (config.floats) {
    events.push_back({fmt::format("{} products of fp32", config.lanes), table.float_product});
    events.push_back({fmt::format("{} sums of fp32", config.lanes), table.float_logic});
  }
  return events;
}

StatusOr<Energy> EnergyOf(std::span<const LaunchWork> launches, const Config& config, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Energy energy, EnergyAt(node_nm));
  const EventTable table = TableFor(config, node_nm);
  LaunchEvents all;
  int64_t entries = 0;
  for (const LaunchWork& work : launches) {
    const LaunchEvents events = EventsOf(work);
    all.integer_products += events.integer_products;
    all.float_products += events.float_products;
    all.integer_logic += events.integer_logic;
    all.float_logic += events.float_logic;
    all.memory_reads += events.memory_reads;
    all.memory_writes += events.memory_writes;
    all.line_writes += events.line_writes;
    all.line_reads += events.line_reads;
    all.hops += events.hops;
    all.instructions += events.instructions;
    all.beats_in += events.beats_in;
    all.beats_out += events.beats_out;
    entries += work.runs * work.threads * std::ssize(work.program->deliveries);
  }
  energy.Add(kLaneUnit, fmt::format("{} products of int32", config.lanes), all.integer_products,
             table.integer_product);
  energy.Add(kLaneUnit, fmt::format("{} products of fp32", config.lanes), all.float_products,
             table.float_product);
  energy.Add(kLaneUnit, fmt::format("{} operations of int32", config.lanes), all.integer_logic,
             table.integer_logic);
  energy.Add(kLaneUnit, fmt::format("{} sums of fp32", config.lanes), all.float_logic,
             table.float_logic);
  energy.Add(kMemoryUnit, "vector of a tile memory", all.memory_reads + all.memory_writes,
             table.memory_vector);
  energy.Add(kDelayUnit, "message written to a delay line", all.line_writes, table.line_write);
  energy.Add(kDelayUnit, "message read from a delay line", all.line_reads, table.line_read);
  energy.Add(kLinkUnit, "message over one tile", all.hops, table.hop);
  energy.Add(kControlUnit, "instruction fetched", all.instructions, table.instruction);
  energy.Add(kDispatchUnit, "entry of the delivery table", entries, table.entry);
  energy.Add(kStreamUnit, "beat of a stream", all.beats_in + all.beats_out, table.beat);
  return energy;
}

}  // namespace kiln::cgra
