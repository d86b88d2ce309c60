// `kiln vta serve`: runs VTA devices for clients on other machines (remote_server.h).
#ifndef KILN_TARGETS_VTA_COMMAND_SERVE_H_
#define KILN_TARGETS_VTA_COMMAND_SERVE_H_

#include <cstdint>
#include <string>

#include "kiln/command/command.h"
#include "kiln/targets/vta/command/vectors.h"

namespace kiln::cli {

// The command. Run returns only on errors.
class ServeCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  std::string device_ = "functional", config_, address_ = "127.0.0.1", token_file_;
  int port_ = 0, machines_ = 4, idle_minutes_ = 60;
  uint64_t memory_mib_ = 1024, most_steps_ = kVtaSteps;
};

}  // namespace kiln::cli

#endif  // KILN_TARGETS_VTA_COMMAND_SERVE_H_
