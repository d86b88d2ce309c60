// Reads and writes mappings as JSON:
//   {"format": "kiln-cgra-mapping-1", "graph": "distance", "initiation_interval": 3,
//    "places": [{"node": "dx", "tile": 3, "issue": 0}, ...],
//    "fused": [{"node": "dz2", "into": "result"}, ...],
//    "passes": [{"node": "dx", "from": 0, "tile": 5, "issue": 4}, ...],
//    "providers": [{"edge": 12, "source": "dx", "target": "dx2", "pass": 0}, ...]}
// `from` of a pass-through is the index of the one that hands it the value; without it, the node
// does. `edge` is the index of an edge of the graph; its ends are written to be checked. Lists that
// are empty may be left out, but for `places`.
#ifndef KILN_TARGETS_CGRA_GRAPH_MAPPING_FILE_H_
#define KILN_TARGETS_CGRA_GRAPH_MAPPING_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"

namespace kiln::cgra {

inline constexpr std::string_view kMappingFormat = "kiln-cgra-mapping-1";
inline constexpr int kMostIssue = 1 << 20;  // the latest cycle that a file may state
inline constexpr int kMostTile = 1023;      // the last tile of the largest array

// Reads a mapping of `graph`. Whether it keeps the rules is the checker's to say (check/check.h).
// Errors name the key: no JSON, another format, a key that is not known, missing or of the wrong
// type, the mapping of another graph, a node or an edge that the graph does not have, a node that
// is placed or fused twice, a pass-through that gets its value from itself or a later one, more
// than the budgets allow.
StatusOr<Mapping> ParseMapping(std::string_view text, std::string_view source,
                               const ComputationGraph& graph);
StatusOr<Mapping> ReadMapping(const std::filesystem::path& path, const ComputationGraph& graph);
// Returns JSON that is read as the same mapping. The mapping has an entry for every node and edge.
std::string PrintMapping(const Mapping& mapping, const ComputationGraph& graph);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_MAPPING_FILE_H_
