// The command `kiln doctor`: which of the programs, libraries and files that Kiln uses are
// installed, in which version, and what each is needed for.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/hardware/liberty.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/support/json_text.h"
#include "kiln/support/process.h"
#include "kiln/targets/registry.h"

namespace kiln::cli {
namespace {

// A program that Kiln, the Makefile of an emitted folder or Kiln's own build calls.
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
    {"clang++-19", "clang-19", "--version", "19.", "kiln verify, make sim; builds Kiln", true},
    {"g++", "g++", "--version", "12.", "make sim without clang++-19", false},
    {"yosys", "yosys", "-V", "0.23", "kiln synth, kiln verify --netlist, make synth", true},
    {"sta", "opensta", "-version", "2.0.17", "kiln synth: timing", true},
    {"ccache", "ccache", "--version", "4.", "faster builds of simulations", false},
    {"gtkwave", "gtkwave", "--version", "3.", "shows what make waves writes", false},
    {"cmake", "cmake", "--version", "3.25", "builds Kiln", false},
    {"ninja", "ninja-build", "--version", "1.11", "builds Kiln", false},
    {"z3", "z3", "--version", "4.8", "proofs of the RTL (tools/check_formal)", false},
};

// What is known about an installed tool, library or file.
struct Finding {
  std::string name, kind;  // program, library or file
  std::string version;     // empty: it is not known
  std::string_view known, package, purpose;
  bool needed = false, found = false;
  std::string_view verdict() const {
    if (!found) return needed ? "missing" : "missing, optional";
    return version.starts_with(known) ? "known to work" : "not tested";
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

// Returns the version that a program prints, "" if it prints none, or nullopt if it does not run.
StatusOr<std::optional<std::string>> VersionOf(const std::vector<std::string>& command) {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create("kiln-doctor"));
  const auto log = folder.path() / "log";
  if (!RunProgram(command, log).ok()) return std::nullopt;
  return VersionIn(ReadFile(log).value_or(""));
}

StatusOr<Finding> Find(const Tool& tool) {
  KILN_ASSIGN_OR_RETURN(const std::optional<std::string> version,
                        VersionOf({std::string(tool.name), std::string(tool.option)}));
  return Finding{.name = std::string(tool.name),
                 .kind = "program",
                 .version = version.value_or(""),
                 .known = tool.known,
                 .package = tool.package,
                 .purpose = tool.purpose,
                 .needed = tool.needed,
                 .found = version.has_value()};
}

// Returns the cell library that synthesis uses by default. The file states no version, so the
// version is the package's, if dpkg-query knows the package.
StatusOr<Finding> FindCells() {
  constexpr std::string_view kPackage = "qflow-tech-osu018";
  const std::filesystem::path file = hardware::DefaultLiberty();
  std::error_code error;
  Finding finding{.name = file.filename().string(),
                  .kind = "file",
                  .version = "",
                  .known = "1.3.17",
                  .package = kPackage,
                  .purpose = "kiln synth, kiln verify --netlist: the standard cells",
                  .needed = true,
                  .found = std::filesystem::is_regular_file(file, error)};
  if (!finding.found) return finding;
  KILN_ASSIGN_OR_RETURN(
      const std::optional<std::string> version,
      VersionOf({"dpkg-query", "--show", "--showformat", "${Version}", std::string(kPackage)}));
  finding.version = version.value_or("");
  return finding;
}

// Returns programs, then the cell library, then the libraries that the families call.
StatusOr<std::vector<Finding>> FindAll() {
  std::vector<Finding> findings;
  for (const Tool& tool : kTools) {
    KILN_ASSIGN_OR_RETURN(Finding finding, Find(tool));
    findings.push_back(std::move(finding));
  }
  KILN_ASSIGN_OR_RETURN(Finding cells, FindCells());
  findings.push_back(std::move(cells));
  for (const LinkedLibrary& library : LibrariesOfFamilies()) {
    findings.push_back({.name = library.name,
                        .kind = "library",
                        .version = library.version,
                        .known = library.known,
                        .package = library.package,
                        .purpose = library.purpose,
                        .needed = true,
                        .found = true});
  }
  return findings;
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
    KILN_ASSIGN_OR_RETURN(const std::vector<Finding> findings, FindAll());
    Table table;
    table.Column("tool").Column("version").Column("state").Column("needed for");
    nlohmann::json tools = nlohmann::json::array();
    std::vector<std::string> missing;
    for (const Finding& finding : findings) {
      const std::string version = finding.version.empty() ? "-" : finding.version;
      table.Row(
          {finding.name, version, std::string(finding.verdict()), std::string(finding.purpose)});
      tools.push_back({{"tool", finding.name},
                       {"kind", finding.kind},
                       {"found", finding.found},
                       {"version", finding.version},
                       {"state", finding.verdict()},
                       {"known_version", finding.known},
                       {"package", finding.package},
                       {"needed", finding.needed},
                       {"needed_for", finding.purpose}});
      if (!finding.found && finding.needed) missing.emplace_back(finding.package);
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
