// `kiln vta serve`: devices for clients elsewhere.
#ifndef KILN_CLI_VTA_SERVE_H_
#define KILN_CLI_VTA_SERVE_H_

#include <cstdint>
#include <string>

#include "kiln/cli/command.h"
#include "kiln/cli/vta_vectors.h"

namespace kiln::cli {

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

#endif  // KILN_CLI_VTA_SERVE_H_
