// Runs compiled networks by the values of their computation graphs alone (graph/evaluate.h),
// without machine and mapping.
#ifndef KILN_TESTS_TARGETS_CGRA_COMPILE_BY_GRAPH_H_
#define KILN_TESTS_TARGETS_CGRA_COMPILE_BY_GRAPH_H_

#include <memory>
#include <string>

#include "kiln/targets/cgra/compile/network_program.h"
#include "kiln/targets/cgra/run_network.h"

namespace kiln::cgra {

// Returns a machine of 16 tiles and 8 lanes with four outputs, and one of 4 tiles and 4 lanes with
// two.
Config MachineOf16();
Config MachineOf4();

// Compiles a graph in text form (ir/text.h).
std::unique_ptr<NetworkProgram> CompileText(const std::string& text, const Config& config);

// Runs the launches of a program by evaluating their graphs.
StatusOr<RunResult> RunByGraph(const NetworkProgram& program, const Batch& batch);

}  // namespace kiln::cgra

#endif  // KILN_TESTS_TARGETS_CGRA_COMPILE_BY_GRAPH_H_
