// Computation graphs and machines as commands name them.
#ifndef KILN_TARGETS_CGRA_COMMAND_READ_GRAPH_H_
#define KILN_TARGETS_CGRA_COMMAND_READ_GRAPH_H_

#include <string>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"

namespace kiln::cli {

// Returns the graph of a file, or one of Kiln's own by its name. Networks (.onnx, .kir) become
// graphs with a node for each operator. Errors: the errors of the readers; a name that is neither a
// file nor a graph.
StatusOr<cgra::ComputationGraph> ReadComputationGraph(const std::string& text);
// Returns the design point of a file, or a shipped one by its name. Errors: the errors of the
// reader; a design point of another family.
StatusOr<cgra::Config> ReadMachine(const std::string& accelerator);

}  // namespace kiln::cli

#endif  // KILN_TARGETS_CGRA_COMMAND_READ_GRAPH_H_
