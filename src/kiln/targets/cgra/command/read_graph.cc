// Finds and reads the graph that a command line names.

#include "kiln/targets/cgra/command/read_graph.h"

#include <filesystem>

#include "kiln/flow/flow.h"
#include "kiln/targets/cgra/compile/computation.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"

namespace kiln::cli {

StatusOr<cgra::ComputationGraph> ReadComputationGraph(const std::string& text) {
  const std::filesystem::path path(text);
  std::error_code error;
  // Names of graphs have neither folders nor extensions.
  const bool is_path = path.has_extension() || path.has_parent_path();
  if (!is_path && !std::filesystem::exists(path, error)) {
    return cgra::MakeNamedGraph(text);
  }
  if (path.extension() == ".onnx" || path.extension() == ".kir") {
    KILN_ASSIGN_OR_RETURN(const Graph network, LoadNetwork(path, {}, true));
    return cgra::GraphOfNetwork(network);
  }
  return cgra::ReadGraph(path);
}

}  // namespace kiln::cli
