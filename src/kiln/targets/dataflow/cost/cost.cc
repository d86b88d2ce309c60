// Adds up what stages and channels take.

#include "kiln/targets/dataflow/cost/cost.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/targets/dataflow/cost/area_model.h"
#include "kiln/targets/dataflow/cost/events.h"
#include "kiln/targets/dataflow/cost/fpga_model.h"
#include "kiln/targets/dataflow/cost/parts.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::dataflow {
namespace {

constexpr const char* kNoClock = "no open tool times FPGAs of Xilinx";

// Returns the bits of a pipeline's weights and of its channels in registers.
int64_t BitsOutsideMemories(const Pipeline& pipeline) {
  int64_t bits = 0;
  for (const Stage& stage : pipeline.stages) {
    const StageSizes sizes = SizesOf(pipeline, stage);
    if (!sizes.streams_weights) bits += sizes.weight_bits * sizes.weight_words;
  }
  for (const Channel& channel : pipeline.channels) {
    if (!InMemory(channel)) bits += channel.depth * channel.word_bits();
  }
  return bits;
}

// Returns the energy of one event of each kind that the network has.
StatusOr<std::vector<EventEnergy>> SingleEvents(std::span<const Pipeline* const> pipelines,
                                                bool ultrascale, int node_nm) {
  KILN_ASSIGN_OR_RETURN(const Energy energy, EnergyOf(pipelines, ultrascale, node_nm));
  std::vector<EventEnergy> events;
  for (const EnergyPart& part : energy.parts) {
    const std::string name = part.unit == kOuterMemoryUnit ? "outer memory byte" : part.event;
    if (std::ranges::find(events, name, &EventEnergy::event) == events.end())
      events.push_back({name, part.picojoules_each});
  }
  return events;
}

}  // namespace

StatusOr<Cost> DeviceCost(const Config& config, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Cost cost, CostAt(node_nm));
  cost.clock.no_model = kNoClock;
  cost.multipliers = config.dsp * config.products_per_dsp;
  cost.notes.push_back("the hardware is built for a network; compile one for its resources");
  return cost;
}

StatusOr<Cost> PipelineCost(std::span<const Pipeline* const> pipelines, const Config& config,
                            int node_nm) {
  KILN_ASSIGN_OR_RETURN(Cost cost, CostAt(node_nm));
  cost.clock.no_model = kNoClock;
  const std::vector<UnitParts> units = UnitsOf(pipelines, config.ultrascale);
  cost.multipliers = 0;
  cost.on_chip_memory_bits = MemoryBitsOf(units);
  FpgaResources sum;
  for (const Pipeline* pipeline : pipelines) {
    sum += ResourcesOf(*pipeline, config.ultrascale);
    for (const Stage& stage : pipeline->stages)
      cost.multipliers += SizesOf(*pipeline, stage).products;
    cost.on_chip_memory_bits += BitsOutsideMemories(*pipeline);
  }
  KILN_ASSIGN_OR_RETURN(cost.events, SingleEvents(pipelines, config.ultrascale, node_nm));
  AddAreas(units, FamilyAreaModels(), &cost);
  cost.notes.push_back(fmt::format(
      "{} of the {} on-chip bits are memories in the area; constants are gates, and what an FPGA "
      "has in LUTs is registers",
      MemoryBitsOf(units), cost.on_chip_memory_bits));
  cost.notes.push_back(fmt::format(
      "area and energy are modelled for standard cells at {} nm, not for the FPGA of the design "
      "point; an FPGA takes more energy for the same work",
      node_nm));
  if (pipelines.size() > 1 && config.passes > 1)
    cost.notes.push_back("the area is that of the hardware of all passes together");
  // Of a cut network these are the sums over all devices, or over all passes.
  const std::string where = config.devices > 1  ? fmt::format("the {} FPGAs", config.devices)
                            : config.passes > 1 ? "the FPGA, all passes together"
                                                : "the FPGA";
  const int64_t devices = config.devices;
  cost.notes.push_back(fmt::format(
      "in {}: {} of {} DSP, {:g} of {} RAMB36, {} of {} URAM, about {} of {} LUTs", where, sum.dsp,
      devices * config.dsp, static_cast<double>(sum.ramb18) / 2, devices * config.bram, sum.uram,
      devices * config.uram, sum.lut, devices * config.lut));
  return cost;
}

}  // namespace kiln::dataflow
