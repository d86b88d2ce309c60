// Reads and prints design points by the table of keys.

#include "kiln/targets/cgra/config/config.h"

#include <algorithm>
#include <cstdlib>

#include "kiln/support/yaml.h"
#include "kiln/targets/cgra/config/keys.h"

namespace kiln::cgra {

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  Config config;
  hardware::KeyReader<Config> reader(Keys(), file.root(), &config);
  reader.ReadRest();
  if (reader.values_fit()) {
    if (config.ring_entries > config.memory_depth) {
      file.root().Fail("ring_entries",
                       fmt::format("{} threads do not fit a memory of {} entries",
                                   config.ring_entries, config.memory_depth),
                       "at most 'memory_depth'");
    }
    if (config.tile_period > config.spoke_depth) {
      file.root().Fail("tile_period",
                       fmt::format("{} cycles are more than the spoke RAM's {} entries",
                                   config.tile_period, config.spoke_depth),
                       "at most 'spoke_depth'");
    }
  }
  KILN_RETURN_IF_ERROR(file.Finish());
  return config;
}

std::string PrintConfig(const Config& config) { return Keys().Print(config); }

int HopCycles(const Config& config, int from, int to) {
  const int rows = std::abs(from / config.columns - to / config.columns);
  const int columns = std::abs(from % config.columns - to % config.columns);
  const bool linked = (rows == 0 || columns == 0) && rows + columns <= config.reach;
  if (!linked && !config.relaxed_distance) return -1;
  return (rows + columns) * config.hop_cycles;
}

int MostHopCycles(const Config& config) {
  // Cycles depend on distances alone, and the tile in the corner has every distance to another.
  int most = 0;
  for (int to = 0; to < config.tiles(); ++to) most = std::max(most, HopCycles(config, 0, to));
  return most;
}

int SlotsOf(const Config& config, int initiation_interval) {
  return config.tile_period > 0 ? config.tile_period : initiation_interval;
}

}  // namespace kiln::cgra
