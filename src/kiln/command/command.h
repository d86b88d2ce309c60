// The interface of one command of `kiln`: its options, and what it does with them.
#ifndef KILN_COMMAND_COMMAND_H_
#define KILN_COMMAND_COMMAND_H_

#include <memory>
#include <ostream>

#include "kiln/command/progress.h"
#include "kiln/support/status.h"

namespace CLI {
class App;
}

namespace kiln::cli {

// The streams of a command. Results go to `out`; progress and errors go to `err`.
struct Context {
  std::ostream& out;
  std::ostream& err;
  bool show_progress = false;  // draw progress bars; `err` is a terminal
  bool show_steps = false;     // print a line per long step instead; `err` is not a terminal
  // Returns a progress bar of `total` units of work.
  Progress StartProgress(std::string title, int64_t total) const {
    return Progress(err, show_progress, std::move(title), total);
  }
};

// A command. application.cc creates one object per row of the table (cli/commands.h), calls Declare
// on all of them, parses the command line, and calls Run on the chosen one. By then CLI11 has
// stored the option values in the command's members and has checked each value on its own; Run
// checks combinations of options, input files and output files, before any long work.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  // Declares options, positional arguments and an example. They are bound to members of the
  // command.
  virtual void Declare(CLI::App& app) = 0;
  // Runs the command. An error becomes the line "kiln: <message>" and exit code 1.
  virtual Status Run(Context& context) = 0;
};

// A row of the table of commands (cli/commands.h).
struct CommandRow {
  const char* name;
  const char* what;  // one line for --help
  std::unique_ptr<Command> (*make)();
};

}  // namespace kiln::cli

#endif  // KILN_COMMAND_COMMAND_H_
