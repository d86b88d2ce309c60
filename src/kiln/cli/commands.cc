// Joins the rows of commands.def with those of the families.
#include "kiln/cli/commands.h"

namespace kiln {

// Each family with commands of its own defines kiln::<family>::FamilyCommand in its folder command
// (kiln_family_command() in the build).
#define KILN_FAMILY_COMMAND(family) \
  namespace family {                \
  cli::CommandRow FamilyCommand();  \
  }
#include "kiln/cli/family_commands.def"
#undef KILN_FAMILY_COMMAND

}  // namespace kiln

namespace kiln::cli {

#define KILN_COMMAND(id, name, what) std::unique_ptr<Command> Make##id##Command();
#include "kiln/cli/commands.def"
#undef KILN_COMMAND

const std::vector<CommandRow>& AllCommands() {
  static const auto* rows = new std::vector<CommandRow>{
#define KILN_COMMAND(id, name, what) {name, what, &Make##id##Command},
#include "kiln/cli/commands.def"
#undef KILN_COMMAND
#define KILN_FAMILY_COMMAND(family) family::FamilyCommand(),
#include "kiln/cli/family_commands.def"
#undef KILN_FAMILY_COMMAND
  };
  return *rows;
}

}  // namespace kiln::cli
