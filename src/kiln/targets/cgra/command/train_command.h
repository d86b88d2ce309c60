// `kiln cgra train`: trains a policy for the mapper ppo.
#ifndef KILN_TARGETS_CGRA_COMMAND_TRAIN_COMMAND_H_
#define KILN_TARGETS_CGRA_COMMAND_TRAIN_COMMAND_H_

#include <string>
#include <vector>

#include "kiln/command/command.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/learn/training.h"

namespace kiln::cli {

class TrainCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  Status CheckFiles() const;
  // Returns the options of the command line, with the graphs read.
  StatusOr<cgra::TrainOptions> Options() const;

  const CLI::App* app_ = nullptr;
  cgra::TrainOptions options_;
  bool no_mask_ = false, no_graph_ = false, no_attention_ = false;
  int state_every_ = 10;
  std::vector<std::string> graphs_;
  std::string policy_, state_, resume_, curve_, log_;
};

}  // namespace kiln::cli

#endif  // KILN_TARGETS_CGRA_COMMAND_TRAIN_COMMAND_H_
