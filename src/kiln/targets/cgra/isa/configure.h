// From a mapping to the configuration of the machine that executes it.
#ifndef KILN_TARGETS_CGRA_ISA_CONFIGURE_H_
#define KILN_TARGETS_CGRA_ISA_CONFIGURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

struct ConfigureOptions {
  // Values of variables by lane (Config::lanes elements), by name; a variable that is not here has
  // its literal in every lane.
  std::map<std::string, std::vector<int32_t>, std::less<>> variables;
};

// Builds the program that executes a graph with a mapping that obeys the rules of the design point
// (check/check.h). What it decides:
//   - an instruction's master is its message of the same thread that waits least, or `base`;
//   - the operand that waits longer gets a delay;
//   - one constant of an instruction is its literal, unless a loop-carried operand needs it for its
//     initial value; further ones are kept in a tile memory;
//   - values in tile memories are spread over memory 0 and 1 so that the two values of each
//     instruction are in different memories; where no distribution does that, a value is in both.
// Errors name the node and what hardware would need: loads, stores and loop control; binary32 on a
// machine without; several predicates, or one that finds no free operand; several initial values;
// operands that wait longer than delay lines; instructions without messages of their own thread
// that issue after the first period; results that are values of memories or are fused; memories,
// instruction RAM, outputs that do not suffice; a design point that is not built
// (CheckStreamMachine); a mapping that is not one of this graph.
StatusOr<CgraProgram> BuildConfiguration(const ComputationGraph& graph, const Mapping& mapping,
                                         const Config& config,
                                         const ConfigureOptions& options = {});

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_CONFIGURE_H_
