// Machines of the VTA family by name, wherever a command of `kiln vta` asks for one.
#ifndef KILN_CLI_VTA_CONFIG_H_
#define KILN_CLI_VTA_CONFIG_H_

#include <string>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"

namespace CLI {
class App;
}

namespace kiln::cli {

// --on, --config: what FindVtaConfig takes. `remark` ends the help.
void DeclareVtaConfig(CLI::App& app, std::string* name, const std::string& remark = "");

// A design point by name or path, as --on of other commands has it (FindResource), or the original's configuration; an
// empty name is the original's default. Errors: no such file or name; another family's; what LoadConfig says.
StatusOr<vta::Config> FindVtaConfig(const std::string& name);

}  // namespace kiln::cli

#endif  // KILN_CLI_VTA_CONFIG_H_
