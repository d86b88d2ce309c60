// Reads and writes computation graphs as JSON (docs/cgra-graphs.md).
#ifndef KILN_TARGETS_CGRA_GRAPH_GRAPH_FILE_H_
#define KILN_TARGETS_CGRA_GRAPH_GRAPH_FILE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/support/json_reader.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cgra {

inline constexpr std::string_view kGraphFormat = "dfg-edge-list-1";

// Reads a graph from JSON; `source` is the file's name. Errors name the key or the node: no JSON,
// another format, a key that is not known, missing or of the wrong type, two nodes with one id, an
// edge to an id that no node has, an operator that is not known, more than the budgets allow, and
// the errors of VerifyAndSort.
StatusOr<ComputationGraph> ParseGraphJson(std::string_view text, std::string_view source);
// Returns JSON that is read as the same graph.
std::string PrintGraphJson(const ComputationGraph& graph);

// Returns the 32 bits of a number in JSON: those of a binary32 value if it has a point or an
// exponent, else an integer from -2^31 to 2^32 - 1. Returns nothing for other values.
std::optional<int32_t> LaneBits(const Json& value);

// Reads a graph from a file: DOT if its name ends in .dot or .gv, JSON if it ends in .json, else
// JSON if its first letter is a brace.
StatusOr<ComputationGraph> ReadGraph(const std::filesystem::path& path);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_GRAPH_FILE_H_
