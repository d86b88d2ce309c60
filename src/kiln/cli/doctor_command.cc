// The command `kiln doctor`: which of the programs that Kiln calls are installed, in which version,
// and what each is needed for.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/support/json_text.h"
#include "kiln/support/process.h"

namespace kiln::cli {
namespace {

// A program that Kiln or the Makefile of an emitted folder calls.
struct Tool {
  std::string_view name, package;  // of Debian 12
  std::string_view option;         // prints the version
  std::string_view known;          // the version with which Kiln is tested, or how it begins
  std::string_view purpose;
  bool needed;
};

constexpr Tool kTools[] = {
    {"verilator", "verilator", "--version", "5.006", "kiln verify, make lint and sim", true},
    {"make", "make", "--version", "4.3", "kiln verify, emitted folders", true},
    {"clang++-19", "clang-19", "--version", "19.", "kiln verify, make sim", true},
    {"yosys", "yosys", "-V", "0.23", "kiln synth, kiln verify --netlist, make synth", true},
    {"sta", "opensta", "-version", "2.0.17", "kiln synth: timing", true},
    {"ccache", "ccache", "--version", "4.", "faster builds of simulations", false},
    {"gtkwave", "gtkwave", "--version", "3.", "shows what make waves writes", false},
};

// What is known about an installed tool.
struct Finding {
  const Tool* tool;
  bool found = false;
  std::string version;  // empty: the tool prints none
  std::string_view verdict() const {
    if (!found) return tool->needed ? "missing" : "missing, optional";
    return version.starts_with(tool->known) ? "known to work" : "not tested";
  }
};

// Returns the first word of a text that begins like a version, 5.006 or 2.3.1; or "".
std::string VersionIn(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  for (size_t at = 0; (at = text.find_first_of(kDigits, at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t dot = word.find('.');
    if (dot != std::string_view::npos && dot + 1 < word.size()) return std::string(word);
    at = end;
  }
  return "";
}

StatusOr<Finding> Find(const Tool& tool) {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create("kiln-doctor"));
  const auto log = folder.path() / "log";
  const Status ran = RunProgram({std::string(tool.name), std::string(tool.option)}, log);
  Finding finding{.tool = &tool, .found = ran.ok(), .version = ""};
  if (ran.ok()) finding.version = VersionIn(ReadFile(log).value_or(""));
  return finding;
}

class DoctorCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--json", json_, "The same as JSON; - is standard output")->type_name("FILE");
    app.footer(
        "The exit code is 0 if every tool that a command needs is there.\n"
        "Example:\n  kiln doctor\n  kiln doctor --json -");
  }

  Status Run(Context& context) override {
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}));
    Table table;
    table.Column("tool").Column("version").Column("state").Column("needed for");
    nlohmann::json tools = nlohmann::json::array();
    std::vector<std::string> missing;
    for (const Tool& tool : kTools) {
      KILN_ASSIGN_OR_RETURN(const Finding finding, Find(tool));
      const std::string version = finding.version.empty() ? "-" : finding.version;
      table.Row({std::string(tool.name), version, std::string(finding.verdict()),
                 std::string(tool.purpose)});
      tools.push_back({{"tool", tool.name},
                       {"found", finding.found},
                       {"version", finding.version},
                       {"state", finding.verdict()},
                       {"known_version", tool.known},
                       {"package", tool.package},
                       {"needed", tool.needed},
                       {"needed_for", tool.purpose}});
      if (!finding.found && tool.needed) missing.emplace_back(tool.package);
    }
    const nlohmann::json all = {{"complete", missing.empty()}, {"tools", std::move(tools)}};
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, table.ToString(), JsonText(all)));
    if (missing.empty()) return OkStatus();
    return NotFoundAt("", "", "tools are missing or do not run",
                      fmt::format("apt-get install {}", fmt::join(missing, " ")));
  }

 private:
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace kiln::cli
