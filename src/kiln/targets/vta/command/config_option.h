// The option that names a machine of the VTA family, shared by the commands of `kiln vta`.
#ifndef KILN_TARGETS_VTA_COMMAND_CONFIG_OPTION_H_
#define KILN_TARGETS_VTA_COMMAND_CONFIG_OPTION_H_

#include <string>

namespace CLI {
class App;
}

namespace kiln::cli {

// Declares --on, with the alias --config; its value is for vta::FindConfig. `remark` ends the help.
void DeclareVtaConfig(CLI::App& app, std::string* name, const std::string& remark = "");

}  // namespace kiln::cli

#endif  // KILN_TARGETS_VTA_COMMAND_CONFIG_OPTION_H_
