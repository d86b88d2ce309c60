// The table of all commands of `kiln`: its own (commands.def), then those that families bring.
#ifndef KILN_CLI_COMMANDS_H_
#define KILN_CLI_COMMANDS_H_

#include <vector>

#include "kiln/command/command.h"

namespace kiln::cli {

// Returns the rows in the order in which --help lists them.
const std::vector<CommandRow>& AllCommands();

}  // namespace kiln::cli

#endif  // KILN_CLI_COMMANDS_H_
