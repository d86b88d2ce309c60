// kiln vta: programs of the VTA family, as files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kiln/cli/arguments.h"
#include "kiln/cli/command.h"
#include "kiln/cli/vta_config.h"
#include "kiln/cli/vta_serve.h"
#include "kiln/cli/vta_vectors.h"
#include "kiln/report/text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/lint.h"
#include "kiln/targets/vta/program_vector.h"

namespace kiln::cli {
namespace {

std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// The instructions of a file of 16 bytes each.
StatusOr<std::vector<uint8_t>> InstructionsOf(const std::string& file, std::string_view content) {
  if (content.size() % vta::kInstructionBytes != 0) {
    return ErrorAt(file, "", fmt::format("has {} bytes", content.size()),
                   "16 bytes an instruction");
  }
  return std::vector<uint8_t>(content.begin(), content.end());
}

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
    KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, TextOf(linted), Dump(JsonOf(linted))));
    const int64_t count = std::ssize(linted.result.findings);
    if (count == 0) return OkStatus();
    return absl::DataLossError(fmt::format("{}: {}", file_, Counted(count, "finding")));
  }

 private:
  struct Linted {
    vta::LintResult result;
    std::vector<size_t> lines;  // of the text, an instruction each
  };

  StatusOr<Linted> Lint() const {
    KILN_ASSIGN_OR_RETURN(const std::string content, ReadFile(file_, budgets::kVtaProgramBytes));
    // Every program has a FINISH, whose bytes no text has.
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
    // What a program that is stopped would have done on hardware is not known.
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

// Text to instructions and back.
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
    KILN_ASSIGN_OR_RETURN(const std::string content, ReadFile(file_, budgets::kVtaProgramBytes));
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

class VtaCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.require_subcommand(1);
    app.fallthrough();
    const auto add = [&](const char* name, const char* what) {
      CLI::App* sub = app.add_subcommand(name, what);
      sub->fallthrough();
      return sub;
    };
    exec_app_ = add("exec", "Runs program vectors and compares memory and counters");
    exec_.Declare(*exec_app_);
    replay_app_ =
        add("replay", "Makes the runtime's calls of vectors, and compares streams and memory");
    replay_.Declare(*replay_app_);
    lint_app_ = add("lint", "Looks for races, reads of nothing, and what hardware does otherwise");
    lint_.Declare(*lint_app_);
    assemble_app_ = add("assemble", "Turns text into a program");
    assemble_.Declare(*assemble_app_);
    disassemble_app_ = add("disassemble", "Turns a program into text");
    disassemble_.Declare(*disassemble_app_);
    serve_app_ = add("serve", "Gives a device to programs elsewhere, through a socket");
    serve_.Declare(*serve_app_);
    app.footer("Example:\n  kiln vta exec vectors/");
  }

  Status Run(Context& context) override {
    if (exec_app_->parsed()) return exec_.Run(context);
    if (replay_app_->parsed()) return replay_.Run(context);
    if (lint_app_->parsed()) return lint_.Run(context);
    if (assemble_app_->parsed()) return assemble_.Run(context);
    if (serve_app_->parsed()) return serve_.Run(context);
    return disassemble_.Run(context);
  }

 private:
  ExecCommand exec_;
  ReplayCommand replay_;
  LintCommand lint_;
  TextCommand assemble_{true}, disassemble_{false};
  ServeCommand serve_;
  CLI::App *exec_app_ = nullptr, *replay_app_ = nullptr, *lint_app_ = nullptr,
           *assemble_app_ = nullptr, *disassemble_app_ = nullptr, *serve_app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeVtaCommand() { return std::make_unique<VtaCommand>(); }

}  // namespace kiln::cli
