// The command `kiln vta` and its subcommands: runs, checks, assembles and disassembles programs of
// the VTA family that are stored in files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kiln/command/checks.h"
#include "kiln/command/command_group.h"
#include "kiln/command/result_files.h"
#include "kiln/report/text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/json_text.h"
#include "kiln/targets/vta/command/config_option.h"
#include "kiln/targets/vta/command/serve.h"
#include "kiln/targets/vta/command/vectors.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/program_vector.h"
#include "kiln/targets/vta/lint/lint.h"
#include "kiln/targets/vta/run/run_vector.h"

namespace kiln::cli {
namespace {

// Returns the instructions of a binary file, 16 bytes each.
StatusOr<std::vector<uint8_t>> InstructionsOf(const std::string& file, std::string_view content) {
  if (content.size() % vta::kInstructionBytes != 0) {
    return ErrorAt(file, "", fmt::format("has {} bytes", content.size()),
                   "16 bytes an instruction");
  }
  return std::vector<uint8_t>(content.begin(), content.end());
}

// `kiln vta lint`: checks a program for races, for reads of undefined data, and for behaviour that
// differs between implementations.
class LintCommand {
 public:
  void Declare(CLI::App& app) {
    app_ = &app;
    app.add_option("program", file_,
                   "A program vector (NAME.json): a program with its memory; or a program alone, "
                   "as text or as 16 bytes "
                   "an instruction")
        ->required()
        ->type_name("FILE");
    DeclareVtaConfig(app, &config_, "; a vector names its own");
    app.add_option("--json", json_, "What was found as JSON; - is standard output")
        ->type_name("FILE");
    DeclareVtaSteps(app, &most_steps_);
    app.footer(
        "Races are accesses of two stages that no chain of tokens orders. Portable: the original's "
        "hardware does what\n"
        "its functional simulator does. Of a program without its memory, the last line says what "
        "is not checked.\n"
        "Exit code: 0 nothing was found, 1 something was, or the file cannot be read, 2 a wrong "
        "call.\n"
        "Examples:\n  kiln vta lint vectors/s09_fuzz.json\n  kiln vta lint program.txt --on "
        "vta-pynq");
  }

  Status Run(Context& context) const {
    const std::filesystem::path inputs[] = {file_};
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, inputs));
    KILN_ASSIGN_OR_RETURN(const Linted linted, Lint());
    KILN_RETURN_IF_ERROR(
        WriteResults(context.out, json_, TextOf(linted), JsonText(JsonOf(linted))));
    const int64_t count = std::ssize(linted.result.findings);
    if (count == 0) return OkStatus();
    return absl::DataLossError(fmt::format("{}: {}", file_, Counted(count, "finding")));
  }

 private:
  // The findings, and for a program in text form, where its instructions are.
  struct Linted {
    vta::LintResult result;
    std::vector<size_t> lines;  // line of each instruction in the text; empty otherwise
  };

  // Reads the file as a program vector, as text or as binary instructions, and lints it.
  StatusOr<Linted> Lint() const {
    KILN_ASSIGN_OR_RETURN(const std::string content, ReadFile(file_, budgets::kProgramBytes));
    // Every program contains a FINISH instruction, and its encoding has bytes that no text has.
    const bool binary =
        std::ranges::any_of(content, [](char c) { return c >= 0 && c < ' ' && !std::isspace(c); });
    const size_t begin = content.find_first_not_of(" \t\r\n");
    if (!binary &&
        (file_.ends_with(".json") || (begin != std::string::npos && content[begin] == '{'))) {
      if (IsGiven(*app_, "--on")) {
        return ErrorAt("", "--on", "a program vector says what machine it is for", "leave it out");
      }
      KILN_ASSIGN_OR_RETURN(const vta::ProgramVector vector, vta::ReadProgramVector(file_));
      return Linted{vta::Lint(vector, most_steps_), {}};
    }
    KILN_ASSIGN_OR_RETURN(const vta::Config config, vta::FindConfig(config_));
    Linted linted;
    KILN_ASSIGN_OR_RETURN(
        const std::vector<uint8_t> program,
        binary ? InstructionsOf(file_, content)
               : vta::Assemble(content, file_, vta::Encoding(config), &linted.lines));
    linted.result = vta::LintInstructions(program, config, most_steps_);
    return linted;
  }

  // Returns the findings and the judgements as JSON.
  nlohmann::ordered_json JsonOf(const Linted& linted) const {
    const vta::LintResult& result = linted.result;
    nlohmann::ordered_json json = {{"findings", nlohmann::json::array()}};
    for (const vta::Finding& finding : result.findings) {
      json["findings"].push_back({{"kind", vta::NameOf(finding.kind)},
                                  {"launch", finding.launch},
                                  {"instruction", finding.instruction},
                                  {"message", finding.message}});
      if (finding.instruction < linted.lines.size()) {
        json["findings"].back()["line"] = linted.lines[finding.instruction];
      }
    }
    // The behaviour of a stopped program on hardware is unknown, so the JSON has null for it.
    const auto reasons = [&](const std::set<std::string>& found) -> nlohmann::ordered_json {
      if (!result.judged || (found.empty() && result.micro_ops_unknown)) return nullptr;
      return found;
    };
    json["not_portable_hls"] = reasons(result.hls);
    json["not_portable_chisel"] = reasons(result.chisel);
    const bool knows_hazards = result.judged && (!result.hazard_free || !result.micro_ops_unknown);
    json["hazard_free"] = knows_hazards ? nlohmann::ordered_json(result.hazard_free) : nullptr;
    json["not_checked"] = result.not_checked;
    return json;
  }

  // Returns the findings as a table, located by line or by launch, and the judgements.
  std::string TextOf(const Linted& linted) const {
    const vta::LintResult& result = linted.result;
    const bool has_lines = !linted.lines.empty();
    Table table;
    table.Right(has_lines ? "line" : "launch").Right("instruction").Column("what").Column("found");
    for (const vta::Finding& finding : result.findings) {
      const size_t place = finding.instruction < linted.lines.size()
                               ? linted.lines[finding.instruction]
                               : finding.launch;
      table.Row({fmt::format("{}", place), fmt::format("{}", finding.instruction),
                 std::string(NameOf(finding.kind)), finding.message});
    }
    std::string text = result.findings.empty() ? std::string("nothing found\n") : table.ToString();
    text += "\n" + Portability(result);
    if (!result.not_checked.empty()) text += "not checked: " + result.not_checked + "\n";
    return text;
  }

  // Describes portability and hazards as three lines.
  static std::string Portability(const vta::LintResult& result) {
    if (!result.judged)
      return "portability and hazards cannot be judged: the program does not come to its end\n";
    const auto reasons = [&](const std::set<std::string>& found) -> std::string {
      if (!found.empty()) return fmt::format("no: {}", fmt::join(found, ", "));
      return result.micro_ops_unknown ? "depends on micro-ops" : "yes";
    };
    const char* const hazards = !result.hazard_free        ? "an accumulator is used again too soon"
                                : result.micro_ops_unknown ? "depend on micro-ops"
                                                           : "none";
    return fmt::format("portable to HLS     {}\nportable to Chisel  {}\nhazards             {}\n",
                       reasons(result.hls), reasons(result.chisel), hazards);
  }

  const CLI::App* app_ = nullptr;
  std::string file_, json_, config_;
  uint64_t most_steps_ = kVtaSteps;
};

// `kiln vta assemble` and `kiln vta disassemble`.
class TextCommand {
 public:
  explicit TextCommand(bool assembles) : assembles_(assembles) {}

  void Declare(CLI::App& app) {
    app.add_option("file", file_,
                   assembles_ ? "A program as text" : "A program: 16 bytes an instruction")
        ->required()
        ->type_name("FILE");
    DeclareVtaConfig(app, &config_);
    app.add_option("-o,--output", output_,
                   assembles_ ? "Where the program goes; - is standard output"
                              : "Where the text goes; - is standard output")
        ->required(assembles_)
        ->type_name("FILE");
    app.footer(assembles_ ? "Example:\n  kiln vta assemble program.txt -o program.bin"
                          : "Example:\n  kiln vta disassemble program.bin");
  }

  Status Run(Context& context) const {
    const std::filesystem::path inputs[] = {file_};
    KILN_RETURN_IF_ERROR(CheckOutputs({output_}, inputs));
    KILN_ASSIGN_OR_RETURN(const vta::Config config, vta::FindConfig(config_));
    const vta::Encoding encoding(config);
    KILN_ASSIGN_OR_RETURN(const std::string content, ReadFile(file_, budgets::kProgramBytes));
    if (assembles_) {
      KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> program,
                            vta::Assemble(content, file_, encoding));
      const std::string bytes(program.begin(), program.end());
      if (output_ != "-") return WriteOutput(output_, bytes);
      context.out << bytes;
      return OkStatus();
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, InstructionsOf(file_, content));
    std::string text;
    for (size_t at = 0; at < bytes.size(); at += vta::kInstructionBytes) {
      text += vta::Disassemble(std::span<const uint8_t, vta::kInstructionBytes>(
                                   bytes.data() + at, vta::kInstructionBytes),
                               encoding) +
              '\n';
    }
    if (!output_.empty() && output_ != "-") return WriteOutput(output_, text);
    context.out << text;
    return OkStatus();
  }

 private:
  const bool assembles_;
  std::string file_, config_, output_;
};

class VtaCommand final : public CommandGroup {
 public:
  VtaCommand() : CommandGroup("Example:\n  kiln vta exec vectors/") {
    Add<ExecCommand>("exec", "Runs program vectors and compares memory and counters");
    Add<ReplayCommand>("replay",
                       "Makes the runtime's calls of vectors, and compares streams and memory");
    Add<LintCommand>("lint", "Looks for races, reads of nothing, and what hardware does otherwise");
    Add<TextCommand>("assemble", "Turns text into a program", true);
    Add<TextCommand>("disassemble", "Turns a program into text", false);
    Add<ServeCommand>("serve", "Gives a device to programs elsewhere, through a socket");
  }
};

}  // namespace

}  // namespace kiln::cli

namespace kiln::vta {

cli::CommandRow FamilyCommand() {
  return {"vta", "Runs, checks, assembles and disassembles programs of the VTA family",
          []() -> std::unique_ptr<cli::Command> { return std::make_unique<cli::VtaCommand>(); }};
}

}  // namespace kiln::vta
