// Parses the command line, suggests names for misspelt words, and runs one command.
#include "kiln/cli/application.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <exception>

#include "kiln/cli/commands.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/report/text.h"
#include "kiln/support/cpu.h"
#include "kiln/support/nearest_name.h"
#include "kiln/support/parallel.h"

namespace kiln::cli {
namespace {

// Returns a message as one line of clean UTF-8. Files can put control sequences into messages, and
// a terminal would obey them.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return CleanUtf8(text);
}

// Joins names with commas.
std::string List(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// Prints a usage error that points to --help, and returns its exit code.
int UsageError(const std::string& command, const std::string& message, std::ostream& err) {
  err << "kiln: " << OneLine(message) << "; see kiln " << command << (command.empty() ? "" : " ")
      << "--help\n";
  return kExitUsage;
}

// Returns what is wrong if the command line names no known command, or if a command with
// subcommands is given none; "" if neither is the case.
std::string MissingCommand(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!chosen.empty() && !chosen[0]->get_subcommands().empty()) return "";
  const CLI::App& command = chosen.empty() ? app : *chosen[0];
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_name().empty()) names.push_back(one->get_name());  // groups of options have none
  }
  if (names.empty()) return "";
  // The words that the parser did not recognise; the options of `kiln` itself are already consumed.
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  if (words.empty() || words[0].starts_with('-')) {
    return chosen.empty()
               ? ""
               : command.get_name() + " needs a command of its own; one of: " + List(names);
  }
  // A guess that many make: quantising is an option of several commands.
  if (chosen.empty() && (words[0] == "quantise" || words[0] == "quantize")) {
    return "there is no '" + words[0] +
           "'; kiln export MODEL --quantise RECIPE -o FILE writes a quantised network, and kiln "
           "run --quantise RECIPE runs one";
  }
  const std::string nearest = NearestName(words[0], names);
  return (chosen.empty() ? "" : command.get_name() + ": ") + "there is no '" + words[0] + "'" +
         (nearest.empty() ? "" : " (did you mean '" + nearest + "'?)") + "; one of: " + List(names);
}

// Adds the names of a command's options and of those in its option groups.
void AddOptions(const CLI::App& command, std::vector<std::string>* names) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names->push_back("--" + name);
  }
  for (const CLI::App* group :
       command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    AddOptions(*group, names);
  }
}

// Returns a suggestion for the first unknown option, among the options of the innermost chosen
// command and of the commands around it; "" if no name is close.
std::string NearestOption(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  const auto word =
      std::ranges::find_if(words, [](const std::string& one) { return one.starts_with("--"); });
  if (word == words.end()) return "";
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr;) {
    AddOptions(*at, &names);
    at = at->get_subcommands().empty() ? nullptr : at->get_subcommands().front();
  }
  const std::string nearest = NearestName(word->substr(0, word->find('=')), names);
  return nearest.empty() ? "" : " (did you mean '" + nearest + "'?)";
}

// Returns what is wrong if an option or argument of the command is given an empty text, such as a
// shell variable that is not set; "" if none is. An empty text means "not given" inside commands.
std::string EmptyValue(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) return option->get_name() + ": is empty; give it a value, or leave it out";
    }
  }
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (std::string fault = EmptyValue(*inner); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace

int Main(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
         bool err_is_terminal) {
  CLI::App app("From a trained network to a verified hardware accelerator.", "kiln");
  app.set_version_flag("--version", "kiln " KILN_VERSION);
  app.require_subcommand(0, 1);
  app.footer("kiln COMMAND --help tells more about a command, with an example.");
  bool quiet = false;
  int threads = 0;
  // Subcommands fall through to these options, so they are accepted before and after the command.
  app.add_flag("-q,--quiet", quiet, "No progress bar, and no lines about steps in its place");
  app.add_option("--threads", threads,
                 "Threads to use; 0: one for each hardware thread. Results do not depend on it")
      ->check(InRange(0, 1024))
      ->type_name("N");
  const std::vector<CommandRow>& rows = AllCommands();
  std::vector<std::unique_ptr<Command>> commands;
  for (const CommandRow& row : rows) {
    commands.push_back(row.make());
    CLI::App* sub = app.add_subcommand(row.name, row.what);
    sub->fallthrough();
    commands.back()->Declare(*sub);
  }

  // Returns the index of the chosen command; the number of commands if none is chosen.
  const auto chosen = [&]() -> size_t {
    for (size_t i = 0; i < commands.size(); ++i) {
      if (app.got_subcommand(rows[i].name)) return i;
    }
    return commands.size();
  };
  // Returns the full name of the chosen command, such as "list formats".
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
    // Without this check, help on a command that does not exist would print the help of `kiln`.
    const std::vector<std::string> words = app.remaining(/*recurse=*/true);
    const bool named = !words.empty() && !words[0].starts_with('-');
    const std::string missing = named ? MissingCommand(app) : "";
    if (!missing.empty()) return UsageError(chosen_name(), missing, err);
    const size_t index = chosen();
    out << (index < commands.size() ? app.get_subcommand(rows[index].name) : &app)
               ->help(index < commands.size() ? "kiln" : "");
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << '\n';
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    const std::string missing = MissingCommand(app);
    return UsageError(chosen_name(), missing.empty() ? error.what() + NearestOption(app) : missing,
                      err);
  }
  if (const std::string empty = EmptyValue(app); !empty.empty())
    return UsageError(chosen_name(), empty, err);
  if (chosen() == commands.size()) {
    if (!arguments.empty()) return UsageError("", "no command given", err);
    out << app.help();
    return kExitOk;
  }
  // A misspelt KILN_CPU must not be ignored silently.
  if (const Status processor = CheckCpuEnvironment(); !processor.ok()) {
    err << "kiln: " << OneLine(MessageOf(processor)) << '\n';
    return kExitError;
  }
  SetThreadCount(threads);
  Context context{out, err, err_is_terminal && !quiet, !err_is_terminal && !quiet};
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
