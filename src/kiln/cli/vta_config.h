// Machines of the VTA family by name, wherever a command of `kiln vta` asks for one.
#ifndef KILN_CLI_VTA_CONFIG_H_
#define KILN_CLI_VTA_CONFIG_H_

#include <string>

namespace CLI {
class App;
}

namespace kiln::cli {

// --on, --config: what vta::FindConfig takes. `remark` ends the help.
void DeclareVtaConfig(CLI::App& app, std::string* name, const std::string& remark = "");

}  // namespace kiln::cli

#endif  // KILN_CLI_VTA_CONFIG_H_
