// kiln vta: programs of the VTA family, as files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "kiln/cli/arguments.h"
#include "kiln/cli/checks.h"
#include "kiln/cli/command.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/lint.h"
#include "kiln/targets/vta/program_vector.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

// The JSON files that the arguments name: files themselves, and whatever stands in folders, however deep; each once.
StatusOr<std::vector<fs::path>> JsonFiles(const std::vector<std::string>& arguments) {
  std::set<fs::path> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      files.insert(argument);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argument, error)) {
      if (entry.path().extension() == ".json") files.insert(entry.path());
    }
    if (error) return ErrorAt(argument, "", "cannot be read: " + error.message(), "");
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

// A design point in YAML or, ending in .json, in the original's form; the original's default without a name.
StatusOr<vta::Config> ReadConfig(const std::string& file) {
  if (file.empty()) return vta::ParseOriginalConfig("{}", "");
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, uint64_t{1} << 20));
  return fs::path(file).extension() == ".json" ? vta::ParseOriginalConfig(text, file) : vta::ParseConfig(text, file);
}

class ExecCommand {
 public:
  void Declare(CLI::App& app) {
    app.add_option("vectors", arguments_, "Program vectors (NAME.json), or folders of them")
        ->required()
        ->type_name("FILE|DIR");
    app.add_option("--orders", orders_,
                   "In how many orders of the stages each runs: the 6 fixed ones, then random ones")
        ->check(InRange(1, 100000))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--json", json_, "The results as JSON; - is standard output")->type_name("FILE");
    app.footer("Example:\n  kiln vta exec vectors/ --orders 20");
  }

  Status Run(Context& context) const {
    KILN_RETURN_IF_ERROR(CheckOutput(json_));
    KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> files, JsonFiles(arguments_));
    std::vector<vta::ProgramVector> vectors;
    std::vector<fs::path> names;
    for (const fs::path& file : files) {
      // What a folder holds beside program vectors is left out; what is named has to be one.
      if (std::find(arguments_.begin(), arguments_.end(), file.string()) == arguments_.end()) {
        KILN_ASSIGN_OR_RETURN(const bool is_one, vta::IsProgramVector(file));
        if (!is_one) continue;
      }
      KILN_ASSIGN_OR_RETURN(vta::ProgramVector vector, vta::ReadProgramVector(file));
      vectors.push_back(std::move(vector));
      names.push_back(file);
    }
    if (vectors.empty()) return ErrorAt(arguments_[0], "", "holds no program vector", "files of format vta-vector-1");

    std::vector<std::optional<std::string>> differences(vectors.size());
    Progress progress = context.StartProgress("vectors", std::ssize(vectors));
    for (size_t i = 0; i < vectors.size(); ++i) {
      for (int order = 0; order < orders_ && !differences[i].has_value(); ++order) {
        differences[i] = vta::FindDifference(vectors[i], static_cast<uint64_t>(order));
        if (differences[i].has_value()) *differences[i] += fmt::format(" (order {})", order);
      }
      progress.Update(static_cast<int64_t>(i) + 1);
    }
    return Report(context, names, vectors, differences);
  }

 private:
  Status Report(Context& context, const std::vector<fs::path>& names, const std::vector<vta::ProgramVector>& vectors,
                const std::vector<std::optional<std::string>>& differences) const {
    const auto failed =
        std::count_if(differences.begin(), differences.end(), [](const auto& d) { return d.has_value(); });
    nlohmann::ordered_json json = {{"orders", orders_}, {"failed", failed}, {"vectors", nlohmann::json::array()}};
    Table table;
    table.Column("vector").Column("configuration").Right("launches").Column("result");
    for (size_t i = 0; i < vectors.size(); ++i) {
      const vta::ProgramVector& vector = vectors[i];
      std::string result = "pass";
      if (vector.fault.has_value()) result += fmt::format(", stopped with {}", *vector.fault);
      if (differences[i].has_value()) result = "FAIL: " + *differences[i];
      table.Row({vector.name, vta::SizesOf(vector.config), fmt::format("{}", vector.launches.size()), result});
      json["vectors"].push_back({{"file", names[i].string()},
                                 {"name", vector.name},
                                 {"pass", !differences[i].has_value()},
                                 {"difference", differences[i].value_or("")}});
    }
    if (json_ == "-") {
      context.out << json.dump(2) << '\n';
    } else {
      context.out << table.ToString()
                  << fmt::format("\n{} of {} pass, in {} orders of the stages\n", std::ssize(vectors) - failed,
                                 vectors.size(), orders_);
      if (!json_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(json_, json.dump(2) + "\n"));
    }
    if (failed == 0) return OkStatus();
    return absl::DataLossError(fmt::format("{} of {} vectors fail", failed, vectors.size()));
  }

  std::vector<std::string> arguments_;
  int orders_ = 10;
  std::string json_;
};

class LintCommand {
 public:
  void Declare(CLI::App& app) {
    app.add_option("vector", file_, "A program vector (NAME.json): the program with its memory")
        ->required()
        ->type_name("FILE");
    app.add_option("--json", json_, "What was found as JSON; - is standard output")->type_name("FILE");
    app.footer(
        "Races are accesses of two stages that no chain of tokens orders. Portable: the original's hardware does what\n"
        "its functional simulator does.\nExample:\n  kiln vta lint vectors/s09_fuzz.json");
  }

  Status Run(Context& context) const {
    KILN_RETURN_IF_ERROR(CheckOutput(json_));
    KILN_ASSIGN_OR_RETURN(const vta::ProgramVector vector, vta::ReadProgramVector(file_));
    const vta::LintResult result = vta::Lint(vector);
    nlohmann::ordered_json json = {{"findings", nlohmann::json::array()},
                                   {"not_portable_hls", result.hls},
                                   {"not_portable_chisel", result.chisel},
                                   {"hazard_free", result.hazard_free}};
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
      context.out << json.dump(2) << '\n';
    } else {
      context.out << (result.findings.empty() ? std::string("nothing found\n") : table.ToString()) << '\n'
                  << "portable to HLS     " << Reasons(result.hls) << '\n'
                  << "portable to Chisel  " << Reasons(result.chisel) << '\n'
                  << "hazards             " << (result.hazard_free ? "none" : "an accumulator is used again too soon")
                  << '\n';
      if (!json_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(json_, json.dump(2) + "\n"));
    }
    if (result.findings.empty()) return OkStatus();
    return absl::DataLossError(fmt::format("{}: {} findings", file_, result.findings.size()));
  }

 private:
  static std::string Reasons(const std::set<std::string>& reasons) {
    return reasons.empty() ? "yes" : fmt::format("no: {}", fmt::join(reasons, ", "));
  }
  std::string file_, json_;
};

// Text to instructions and back.
class TextCommand {
 public:
  explicit TextCommand(bool assembles) : assembles_(assembles) {}

  void Declare(CLI::App& app) {
    app.add_option("file", file_, assembles_ ? "A program as text" : "A program: 16 bytes an instruction")
        ->required()
        ->type_name("FILE");
    app.add_option("--config", config_,
                   "Design point (YAML), or the original's configuration (JSON); without: its default")
        ->type_name("FILE");
    app.add_option("-o,--output", output_,
                   assembles_ ? "Where the program goes" : "Where the text goes; - is standard output")
        ->required(assembles_)
        ->type_name("FILE");
    app.footer(assembles_ ? "Example:\n  kiln vta assemble program.txt -o program.bin"
                          : "Example:\n  kiln vta disassemble program.bin");
  }

  Status Run(Context& context) const {
    KILN_RETURN_IF_ERROR(CheckOutput(output_));
    KILN_ASSIGN_OR_RETURN(const vta::Config config, ReadConfig(config_));
    const vta::Encoding encoding(config);
    KILN_ASSIGN_OR_RETURN(const std::string content, ReadFile(file_, uint64_t{1} << 30));
    if (assembles_) {
      KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> program, vta::Assemble(content, file_, encoding));
      return WriteOutput(output_, std::string(program.begin(), program.end()));
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
    lint_app_ = add("lint", "Looks for races, reads of nothing, and what hardware does otherwise");
    lint_.Declare(*lint_app_);
    assemble_app_ = add("assemble", "Turns text into a program");
    assemble_.Declare(*assemble_app_);
    disassemble_app_ = add("disassemble", "Turns a program into text");
    disassemble_.Declare(*disassemble_app_);
    app.footer("Example:\n  kiln vta exec vectors/");
  }

  Status Run(Context& context) override {
    if (exec_app_->parsed()) return exec_.Run(context);
    if (lint_app_->parsed()) return lint_.Run(context);
    if (assemble_app_->parsed()) return assemble_.Run(context);
    return disassemble_.Run(context);
  }

 private:
  ExecCommand exec_;
  LintCommand lint_;
  TextCommand assemble_{true}, disassemble_{false};
  CLI::App *exec_app_ = nullptr, *lint_app_ = nullptr, *assemble_app_ = nullptr, *disassemble_app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeVtaCommand() { return std::make_unique<VtaCommand>(); }

}  // namespace kiln::cli
