// Finds and reads the graph and the machine that a command line names.

#include "kiln/targets/cgra/command/read_graph.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "kiln/flow/flow.h"
#include "kiln/support/resources.h"
#include "kiln/targets/cgra/accelerator.h"
#include "kiln/targets/cgra/compile/computation.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/registry.h"

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

StatusOr<cgra::Config> ReadMachine(const std::string& accelerator) {
  KILN_ASSIGN_OR_RETURN(const std::filesystem::path path,
                        FindResource("accelerators", accelerator));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Accelerator> read, LoadAccelerator(path));
  const auto* machine = dynamic_cast<const cgra::CgraAccelerator*>(read.get());
  if (machine == nullptr) {
    return ErrorAt(accelerator, "--on", fmt::format("is of the family {}", read->family()),
                   "name a design point of the family cgra");
  }
  return machine->config();
}

}  // namespace kiln::cli
