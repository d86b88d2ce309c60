// Files that show a mapping and its configuration: JSON for other programs, SVG for people.
#ifndef KILN_TARGETS_CGRA_CHART_CHART_H_
#define KILN_TARGETS_CGRA_CHART_CHART_H_

#include <string>
#include <string_view>

#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

inline constexpr std::string_view kConfigurationFormat = "kiln-cgra-configuration-1";

// Returns a program as JSON: the machine's sizes, interval, latency, for every tile its spoke RAM
// and instruction RAM (words in hexadecimal, text, names of nodes), contents of tile memories, the
// delivery table, the entries that start with `base`, inputs and outputs.
std::string ConfigurationJson(const CgraProgram& program);

// What a picture shows beside tiles, slots and instructions.
struct ChartOptions {
  bool arrows = true;  // from producers to consumers
  // For a picture that is an element of an HTML page (KernelPicture): what its ids begin with.
  // Empty: the picture is a file.
  std::string id = "";
};

// Returns a picture, an SVG file that needs no other: the schedule that repeats (tiles and slots),
// and one whole thread over time (tiles and cycles). Instructions of a flow have one colour. The
// mapping must be one of the graph on a machine with these tiles.
std::string MappingSvg(const ComputationGraph& graph, const Mapping& mapping, const Config& config,
                       const ChartOptions& options = {});

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_CHART_CHART_H_
