// Forwards to the subcommand that was parsed.

#include "kiln/command/command_group.h"

#include <CLI/CLI.hpp>

#include "kiln/support/check.h"

namespace kiln::cli {

void CommandGroup::Declare(CLI::App& app) {
  app.require_subcommand(1);
  app.fallthrough();
  for (Row& part : parts_) {
    CLI::App* const sub = app.add_subcommand(part.name, part.what);
    sub->fallthrough();
    part.declare(*sub);
    part.app = sub;
  }
  app.footer(footer_);
}

Status CommandGroup::Run(Context& context) {
  for (const Row& part : parts_) {
    if (part.app->parsed()) return part.run(context);
  }
  KILN_CHECK(false);  // Declare requires one
  return OkStatus();
}

}  // namespace kiln::cli
