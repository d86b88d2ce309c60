// Mappings, and comparisons of mappers, as text, JSON and SVG.
#ifndef KILN_TARGETS_CGRA_COMMAND_MAP_REPORT_H_
#define KILN_TARGETS_CGRA_COMMAND_MAP_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cli {

// The result of a mapper on a graph.
struct MapperRun {
  std::string mapper;
  cgra::MapResult result;
  bool asked_interval = false;  // the user asked for the interval
  // Why Kiln's hardware cannot be configured with the mapping; "" if it can, or without a mapping.
  std::string configuration_fault = {};
};

// Returns the result in a few lines: interval and latency with their bounds and why they hold, and
// a table with the tile, the slot and the issue cycle of every instruction.
std::string MapText(const cgra::ComputationGraph& graph, const cgra::Config& config,
                    const MapperRun& run);
nlohmann::ordered_json MapJson(const cgra::ComputationGraph& graph, const cgra::Config& config,
                               const MapperRun& run);

// Returns the error of a search that has no mapping. It says for which mappings that is proved, or
// that nothing is.
Status NoMapping(const cgra::ComputationGraph& graph, const cgra::Config& config,
                 const std::string& mapper, const cgra::MapOptions& options,
                 const cgra::MapResult& result);

// All runs of mappers on one graph.
struct Comparison {
  std::string graph;
  int instructions = 0;
  std::vector<MapperRun> runs;
};

// Returns a table with a row for each graph and mapper.
std::string CompareText(const std::vector<Comparison>& comparisons);
nlohmann::ordered_json CompareJson(const std::vector<Comparison>& comparisons);
// Returns a picture with a plot for each graph: the latency of each mapper's best mapping over time,
// on a logarithmic axis, and the best bound.
std::string ComparePicture(const std::vector<Comparison>& comparisons);

}  // namespace kiln::cli

#endif  // KILN_TARGETS_CGRA_COMMAND_MAP_REPORT_H_
