// A design point of the cgra family: tiles, their links and memories, and the rules of its mapping
// problem. The default is the Streaming Engine of "Reinforcement learning approach for mapping
// applications to dataflow-based Coarse-Grained Reconfigurable Array" (arXiv 2205.13675).
#ifndef KILN_TARGETS_CGRA_CONFIG_CONFIG_H_
#define KILN_TARGETS_CGRA_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::cgra {

struct Config {
  std::string name;
  // The array. A row of tiles has one row. Tile t is at row t / columns, column t % columns.
  int rows = 1;
  int columns = 16;
  // A link joins two tiles of the same row or column at most `reach` apart.
  int reach = 2;
  int hop_cycles = 1;        // cycles for each tile of a link's distance
  int pipeline_latency = 3;  // cycles from issue to result
  // Memories of a tile.
  int lanes = 16;              // of 32 bits each
  int memory_depth = 512;      // entries of each of the two tile memories
  int instruction_depth = 16;  // entries of the instruction RAM
  int spoke_depth = 16;        // entries of the spoke RAM, so the longest initiation interval
  int ring_entries = 32;       // threads whose inputs a tile memory holds
  int output_depth = 16;       // entries of the queue of each output
  int outputs = 4;             // memory interfaces that results leave by
  bool floats = false;         // whether lanes have binary32 units
  // Rules of the mapping problem. The defaults are how Kiln reads the paper.
  bool relaxed_distance = false;  // a value may go any distance, at hop_cycles per tile
  bool feedback = true;           // a tile may use its own result
  int wait_limit = -1;            // most cycles that an operand waits for its instruction; -1: any;
                                  // a design point without the key has 15, as hardware needs one
  bool issue_later = true;        // an instruction may wait although all its operands are there
  bool every_source_starts = false;  // rule 2 binds all instructions without producers, not only
                                     // the first of each flow
  int tile_period = 0;         // cycles after which spoke counters of tiles start again; divides
                               // the initiation interval; 0: the initiation interval
  int async_latency = 0;       // cycles of a message of the asynchronous fabric, for estimates
  bool one_output = false;     // a result leaves by one link only
  bool shared_links = false;   // two values may use a link in the same cycle
  bool later_periods = false;  // instructions without producers may start in a later period
  bool asynchronous_loads = true;  // results of loads and loop control take no fixed time
  bool cut_loops = false;          // values for later threads take no fixed time
  bool copies = false;             // read-only variables may be copied to several tiles (rule 1)
  double clock_mhz = 0;            // 0: not stated

  int tiles() const { return rows * columns; }
};

// Reads a design point from YAML text. Errors name the key; `source` is the file's name.
StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source);
// Returns YAML that is read as the same design point.
std::string PrintConfig(const Config& config);

// Returns the cycles that a value takes from tile `from` to tile `to` without a pass-through, or -1
// if there is no way: 0 on the same tile, else hop_cycles for each tile of the distance.
int HopCycles(const Config& config, int from, int to);
// Returns the most cycles that a value takes between two tiles between which there is a way.
int MostHopCycles(const Config& config);
// Returns the slots of a tile at an initiation interval in cycles: the cycles after which its spoke
// counter starts again, Config::tile_period or the interval.
int SlotsOf(const Config& config, int initiation_interval);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_CONFIG_CONFIG_H_
