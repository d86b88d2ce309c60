// One command of `kiln`: what it takes and what it does.
#ifndef KILN_CLI_COMMAND_H_
#define KILN_CLI_COMMAND_H_

#include <memory>
#include <ostream>

#include "kiln/cli/progress.h"
#include "kiln/support/status.h"

namespace CLI {
class App;
}

namespace kiln::cli {

// Where a command writes. Results go to `out`; progress and errors do not.
struct Context {
  std::ostream& out;
  std::ostream& err;
  bool show_progress = false;  // bars that move, which a terminal can draw
  bool show_steps = false;     // where it cannot: a line for each step of what takes minutes
  Progress StartProgress(std::string title, int64_t total) const {
    return Progress(err, show_progress, std::move(title), total);
  }
};

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  // Options, positionals and an example. They are bound to members of the command.
  virtual void Declare(CLI::App& app) = 0;
  // A failed status becomes the line "kiln: <message>" and exit code 1.
  virtual Status Run(Context& context) = 0;
};

#define KILN_COMMAND(id, name, what) std::unique_ptr<Command> Make##id##Command();
#include "kiln/cli/commands.def"
#undef KILN_COMMAND

}  // namespace kiln::cli

#endif  // KILN_CLI_COMMAND_H_
