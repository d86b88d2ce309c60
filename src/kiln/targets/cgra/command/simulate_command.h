// `kiln cgra simulate`: executes a mapped graph and compares it with the graph's own evaluation.
#ifndef KILN_TARGETS_CGRA_COMMAND_SIMULATE_COMMAND_H_
#define KILN_TARGETS_CGRA_COMMAND_SIMULATE_COMMAND_H_

#include <string>

#include "kiln/command/command.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/command/search_arguments.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/inputs_file.h"
#include "kiln/targets/cgra/graph/mapping.h"

namespace kiln::cli {

class SimulateCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  // Returns the mapping of the file, if it keeps all rules, or the one that the mapper finds.
  StatusOr<cgra::Mapping> FindMapping(const cgra::ComputationGraph& graph,
                                      const cgra::Config& config) const;
  // Returns the values of the file, or random ones.
  StatusOr<cgra::ThreadInputs> FindInputs(const cgra::ComputationGraph& graph, int lanes) const;

  SearchArguments search_;
  int threads_ = 0;  // 0: as many as the file of inputs has, or kThreads
  std::string graph_, accelerator_, mapper_ = "exact", mapping_, inputs_, json_;
};

}  // namespace kiln::cli

#endif  // KILN_TARGETS_CGRA_COMMAND_SIMULATE_COMMAND_H_
