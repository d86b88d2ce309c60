// kiln vta: programs of the VTA family, as files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kiln/cli/arguments.h"
#include "kiln/cli/command.h"
#include "kiln/cli/vta_config.h"
#include "kiln/cli/vta_serve.h"
#include "kiln/cli/vta_vectors.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/lint.h"
#include "kiln/targets/vta/program_vector.h"

namespace kiln::cli {
namespace {

std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

class LintCommand {
 public:
  void Declare(CLI::App& app) {
    app.add_option("vector", file_, "A program vector (NAME.json): the program with its memory")
        ->required()
        ->type_name("FILE");
    app.add_option("--json", json_, "What was found as JSON; - is standard output")->type_name("FILE");
    DeclareVtaSteps(app, &most_steps_);
    app.footer(
        "Races are accesses of two stages that no chain of tokens orders. Portable: the original's hardware does what\n"
        "its functional simulator does.\nExample:\n  kiln vta lint vectors/s09_fuzz.json");
  }

  Status Run(Context& context) const {
    const std::filesystem::path inputs[] = {file_};
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, inputs));
    KILN_ASSIGN_OR_RETURN(const vta::ProgramVector vector, vta::ReadProgramVector(file_));
    const vta::LintResult result = vta::Lint(vector, most_steps_);
    nlohmann::ordered_json json = {{"findings", nlohmann::json::array()}};
    // What a program that is stopped would have done on hardware is not known.
    json["not_portable_hls"] = result.judged ? nlohmann::ordered_json(result.hls) : nullptr;
    json["not_portable_chisel"] = result.judged ? nlohmann::ordered_json(result.chisel) : nullptr;
    json["hazard_free"] = result.judged ? nlohmann::ordered_json(result.hazard_free) : nullptr;
    Table table;
    table.Right("launch").Right("instruction").Column("what").Column("found");
    for (const vta::Finding& finding : result.findings) {
      const std::string kind(vta::NameOf(finding.kind));
      table.Row({fmt::format("{}", finding.launch), fmt::format("{}", finding.instruction), kind, finding.message});
      json["findings"].push_back({{"kind", kind},
                                  {"launch", finding.launch},
                                  {"instruction", finding.instruction},
                                  {"message", finding.message}});
    }
    if (json_ == "-") {
      context.out << Dump(json);
    } else {
      context.out << (result.findings.empty() ? std::string("nothing found\n") : table.ToString()) << '\n'
                  << Portability(result);
      if (!json_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(json_, Dump(json)));
    }
    if (result.findings.empty()) return OkStatus();
    const size_t count = result.findings.size();
    return absl::DataLossError(fmt::format("{}: {} finding{}", file_, count, count == 1 ? "" : "s"));
  }

 private:
  static std::string Portability(const vta::LintResult& result) {
    if (!result.judged) return "portability and hazards cannot be judged: the program does not come to its end\n";
    return fmt::format("portable to HLS     {}\nportable to Chisel  {}\nhazards             {}\n", Reasons(result.hls),
                       Reasons(result.chisel), result.hazard_free ? "none" : "an accumulator is used again too soon");
  }
  static std::string Reasons(const std::set<std::string>& reasons) {
    return reasons.empty() ? "yes" : fmt::format("no: {}", fmt::join(reasons, ", "));
  }
  std::string file_, json_;
  uint64_t most_steps_ = kVtaSteps;
};

// Text to instructions and back.
class TextCommand {
 public:
  explicit TextCommand(bool assembles) : assembles_(assembles) {}

  void Declare(CLI::App& app) {
    app.add_option("file", file_, assembles_ ? "A program as text" : "A program: 16 bytes an instruction")
        ->required()
        ->type_name("FILE");
    DeclareVtaConfig(app, &config_);
    app.add_option(
           "-o,--output", output_,
           assembles_ ? "Where the program goes; - is standard output" : "Where the text goes; - is standard output")
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
    KILN_ASSIGN_OR_RETURN(const std::string content, ReadFile(file_, uint64_t{1} << 30));
    if (assembles_) {
      KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> program, vta::Assemble(content, file_, encoding));
      const std::string bytes(program.begin(), program.end());
      if (output_ != "-") return WriteOutput(output_, bytes);
      context.out << bytes;
      return OkStatus();
    }
    if (content.size() % vta::kInstructionBytes != 0) {
      return ErrorAt(file_, "", fmt::format("has {} bytes", content.size()), "16 bytes an instruction");
    }
    std::string text;
    const std::vector<uint8_t> bytes(content.begin(), content.end());
    for (size_t at = 0; at < bytes.size(); at += vta::kInstructionBytes) {
      text +=
          vta::Disassemble(std::span<const uint8_t, vta::kInstructionBytes>(bytes.data() + at, vta::kInstructionBytes),
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
    replay_app_ = add("replay", "Makes the runtime's calls of vectors, and compares streams and memory");
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
  CLI::App *exec_app_ = nullptr, *replay_app_ = nullptr, *lint_app_ = nullptr, *assemble_app_ = nullptr,
           *disassemble_app_ = nullptr, *serve_app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeVtaCommand() { return std::make_unique<VtaCommand>(); }

}  // namespace kiln::cli
