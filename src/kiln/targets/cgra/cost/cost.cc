// Counts modules and memories.

#include "kiln/targets/cgra/cost/cost.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "kiln/support/integer.h"
#include "kiln/targets/cgra/config/keys.h"
#include "kiln/targets/cgra/cost/area_model.h"
#include "kiln/targets/cgra/cost/events.h"
#include "kiln/targets/cgra/isa/derived.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {
namespace {

constexpr int kOperands = 3;  // of an instruction
constexpr int kMemories = 2;  // of a tile

// Returns the links of all tiles that lead to a tile.
int64_t LinksInUse(const Config& config) {
  int64_t links = 0;
  for (int h = 1; h <= config.reach; ++h) links += 2 * std::max(0, config.tiles() - h);
  return links;
}

// Returns the tiles' modules, the ones with equally many links into them together: tiles at the
// ends of the row have fewer.
std::vector<ModuleInstances> TileModules(const Config& config) {
  std::map<int, int64_t> tiles;  // by links
  for (int tile = 0; tile < config.tiles(); ++tile) {
    const int left = std::min(tile, config.reach);
    const int right = std::min(config.tiles() - 1 - tile, config.reach);
    ++tiles[left + right];
  }
  std::vector<ModuleInstances> modules;
  for (const auto& [links, count] : tiles) {
    hardware::ModuleParameters tile;
    tile.Set("LANES", config.lanes)
        .Set("REACH", config.reach)
        .Set("PRESENT", (int64_t{1} << links) - 1)
        .Set("RING", config.ring_entries)
        .Set("WAIT_LIMIT", config.wait_limit);
    modules.push_back({"kiln_cgra_tile", tile, count});
  }
  return modules;
}

}  // namespace

std::vector<UnitParts> UnitsOf(const Config& config) {
  const int64_t tiles = config.tiles(), lanes = config.lanes, width = 32 * lanes;
  const int64_t thread_bits = CeilLog2(config.ring_entries);
  const int64_t lines = 2 * config.reach + 1;
  const int64_t lines_in_use = LinksInUse(config) + tiles;
  const int64_t delays = config.wait_limit + 1;
  const auto span =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(delays, 2))));
  hardware::ModuleParameters lane, operand, line, link, memory, stream, dispatch, sequencer,
      outputs;
  lane.Set("FLOATS", config.floats ? 1 : 0);
  operand.Set("LANES", lanes).Set("LINES", lines).Set("SPAN", span);
  line.Set("WIDTH", width).Set("THREAD_BITS", thread_bits).Set("WAIT_LIMIT", config.wait_limit);
  link.Set("WIDTH", width).Set("THREAD_BITS", thread_bits).Set("REACH", config.reach);
  memory.Set("WIDTH", width).Set("DEPTH", config.memory_depth).Set("THREAD_BITS", thread_bits);
  stream.Set("DATA_BYTES", 4 * lanes);
  dispatch.Set("LANES", lanes).Set("RING", config.ring_entries);
  sequencer.Set("RING", config.ring_entries);
  outputs.Set("TILES", tiles)
      .Set("LANES", lanes)
      .Set("OUTPUTS", config.outputs)
      .Set("DEPTH", config.output_depth);
  return {
      {kLaneUnit, {{"kiln_cgra_lane", lane, tiles * lanes}}, {}},
      {kOperandUnit, {{"kiln_cgra_operand", operand, kOperands * tiles}}, {}},
      // A copy of the messages for every operand that can read them.
      {kDelayUnit,
       {{"kiln_cgra_delay_line", line, lines_in_use}},
       {{kOperands * lines_in_use, delays * width}}},
      {kLinkUnit, {{"kiln_cgra_link", link, tiles}}, {}},
      {kMemoryUnit,
       {{"kiln_cgra_tile_memory", memory, kMemories * tiles}},
       {{kMemories * tiles, config.memory_depth * width}}},
      {kControlUnit,
       TileModules(config),
       {{tiles, int64_t{config.spoke_depth} * kSpokeBits},
        {tiles, int64_t{config.instruction_depth} * kInstructionBits}}},
      {kDispatchUnit,
       {{"kiln_axi_stream_register", stream, 1},
        {"kiln_cgra_dispatch", dispatch, 1},
        {"kiln_cgra_sequencer", sequencer, 1}},
       {{1, int64_t{kDeliveryEntries} * kDeliveryBits}}},
      {kOutputUnit,
       {{"kiln_cgra_outputs", outputs, 1}},
       {{config.outputs, int64_t{config.output_depth} * width}}},
  };
}

StatusOr<Cost> MachineCost(const Config& config, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Cost cost, CostAt(node_nm));
  cost.multipliers = int64_t{config.tiles()} * config.lanes;
  if (const Status built = CheckStreamMachine(config); !built.ok()) {
    cost.notes.push_back("no area: " + MessageOf(built));
    cost.clock.no_model = "Kiln builds no machine of this design point";
    return cost;
  }
  const std::vector<UnitParts> units = UnitsOf(config);
  cost.on_chip_memory_bits = MemoryBitsOf(units);
  cost.events = EventsOf(config, node_nm);
  AddAreas(units, FamilyAreaModels(), &cost);
  cost.clock = ClockAt({"kiln_cgra", Keys().HardwareKeys(config)}, node_nm);
  return cost;
}

}  // namespace kiln::cgra
