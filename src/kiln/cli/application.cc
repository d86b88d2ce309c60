#include "kiln/cli/application.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <exception>

#include "kiln/cli/checks.h"
#include "kiln/cli/command.h"
#include "kiln/support/parallel.h"

namespace kiln::cli {
namespace {

struct Row {
  const char* name;
  const char* what;
  std::unique_ptr<Command> (*make)();
};

constexpr Row kCommands[] = {
#define KILN_COMMAND(id, name, what) {name, what, &Make##id##Command},
#include "kiln/cli/commands.def"
#undef KILN_COMMAND
};

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

int UsageError(const std::string& command, const std::string& message, std::ostream& err) {
  err << "kiln: " << OneLine(message) << "; see kiln " << command << (command.empty() ? "" : " ") << "--help\n";
  return kExitUsage;
}

// What is wrong where a command with commands of its own is called without one of them; "" where that is not so.
std::string MissingSubcommand(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty() || !chosen[0]->get_subcommands().empty()) return "";
  const CLI::App& command = *chosen[0];
  std::string names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + one->get_name();
  }
  if (names.empty()) return "";
  // What the parser had no use for; options of `kiln` are gone by now.
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  return command.get_name() + (words.empty() ? " needs a command of its own" : ": there is no '" + words[0] + "'") +
         "; one of: " + names;
}

}  // namespace

int Main(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool err_is_terminal) {
  CLI::App app("From a trained network to a verified hardware accelerator.", "kiln");
  app.set_version_flag("--version", "kiln " KILN_VERSION);
  app.require_subcommand(0, 1);
  app.footer("kiln COMMAND --help tells more about a command, with an example.");
  bool quiet = false;
  int threads = 0;
  // Subcommands fall through to these, so that they may stand before or after the command's name.
  app.add_flag("-q,--quiet", quiet, "No progress bar");
  app.add_option("--threads", threads, "Threads to use; 0: one for each hardware thread. Results do not depend on it")
      ->check(InRange(0, 1024))
      ->type_name("N");
  std::vector<std::unique_ptr<Command>> commands;
  for (const Row& row : kCommands) {
    commands.push_back(row.make());
    CLI::App* sub = app.add_subcommand(row.name, row.what);
    sub->fallthrough();
    commands.back()->Declare(*sub);
  }

  const auto chosen = [&]() -> size_t {
    for (size_t i = 0; i < commands.size(); ++i) {
      if (app.got_subcommand(kCommands[i].name)) return i;
    }
    return commands.size();
  };
  // "vta exec": the command that was chosen, and the one inside it.
  const auto chosen_name = [&] {
    std::string name;
    const CLI::App* inner = &app;
    while (!inner->get_subcommands().empty()) {
      inner = inner->get_subcommands().front();
      name += (name.empty() ? "" : " ") + inner->get_name();
    }
    return name;
  };
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const size_t index = chosen();
    out << (index < commands.size() ? app.get_subcommand(kCommands[index].name) : &app)
               ->help(index < commands.size() ? "kiln" : "");
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << '\n';
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    const std::string missing = MissingSubcommand(app);
    return UsageError(chosen_name(), missing.empty() ? error.what() : missing, err);
  }
  if (chosen() == commands.size()) {
    if (!arguments.empty()) return UsageError("", "no command given", err);
    out << app.help();
    return kExitOk;
  }
  SetThreadCount(threads);
  Context context{out, err, err_is_terminal && !quiet};
  Status status;
  try {
    status = commands[chosen()]->Run(context);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(std::string("a fault of Kiln: ") + error.what());
  }
  if (status.ok()) return kExitOk;
  err << "kiln: " << OneLine(MessageOf(status)) << '\n';
  return kExitError;
}

}  // namespace kiln::cli
