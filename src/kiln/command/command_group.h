// A command that consists of subcommands.
#ifndef KILN_COMMAND_COMMAND_GROUP_H_
#define KILN_COMMAND_COMMAND_GROUP_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/command/command.h"

namespace kiln::cli {

// Declares the subcommands that are added, in their order; CLI11 parses them, and Run runs the one
// that was parsed.
class CommandGroup : public Command {
 public:
  void Declare(CLI::App& app) final;
  Status Run(Context& context) final;

 protected:
  // `footer` is the example that --help ends with.
  explicit CommandGroup(std::string footer) : footer_(std::move(footer)) {}

  // Adds a subcommand: a class with Declare(CLI::App&) and Run(Context&), as Command has them.
  // `what` is its line for --help; `arguments` are those of its constructor.
  template <typename Part, typename... Arguments>
  void Add(const std::string& name, const std::string& what, Arguments&&... arguments) {
    const auto part = std::make_shared<Part>(std::forward<Arguments>(arguments)...);
    parts_.push_back({.name = name,
                      .what = what,
                      .declare = [part](CLI::App& app) { part->Declare(app); },
                      .run = [part](Context& context) { return part->Run(context); }});
  }

 private:
  struct Row {
    std::string name, what;
    std::function<void(CLI::App& app)> declare;
    std::function<Status(Context& context)> run;
    const CLI::App* app = nullptr;  // after Declare
  };

  std::string footer_;
  std::vector<Row> parts_;
};

}  // namespace kiln::cli

#endif  // KILN_COMMAND_COMMAND_GROUP_H_
