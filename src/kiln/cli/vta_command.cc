// kiln vta: programs of the VTA family, as files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
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
#include "kiln/targets/vta/runtime_vector.h"

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
    for (fs::recursive_directory_iterator at(argument, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".json") files.insert(at->path());
    }
    if (error) return ErrorAt(argument, "", "cannot be read: " + error.message(), "");
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// What came of one vector.
struct Outcome {
  std::string file, name, configuration, what;
  std::optional<std::string> difference;
};

// Commands that run vectors of a kind, which stand in files and folders.
class VectorsCommand {
 protected:
  void DeclareFiles(CLI::App& app, const char* what) {
    app.add_option("vectors", arguments_, what)->required()->type_name("FILE|DIR");
    app.add_option("--json", json_, "The results as JSON; - is standard output")->type_name("FILE");
  }

  // Those files that hold vectors of the kind. What a folder holds beside them is left out; what is named has to be
  // one.
  StatusOr<std::vector<fs::path>> Files(StatusOr<bool> (*is_one)(const fs::path&), std::string_view format) const {
    KILN_RETURN_IF_ERROR(CheckOutput(json_));
    KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> files, JsonFiles(arguments_));
    std::vector<fs::path> vectors;
    for (const fs::path& file : files) {
      if (!IsNamed(file)) {
        const auto right = is_one(file);
        if (right.ok() && !*right) continue;
      }
      vectors.push_back(file);
    }
    if (vectors.empty()) {
      return ErrorAt(arguments_[0], "", "holds no such vector", fmt::format("files of format {}", format));
    }
    return vectors;
  }

  bool IsNamed(const fs::path& file) const {
    return std::find(arguments_.begin(), arguments_.end(), file.string()) != arguments_.end();
  }

  // `how`: ", in 10 orders of the stages".
  Status Report(Context& context, const std::vector<Outcome>& outcomes, const std::string& how) const {
    const auto failed =
        std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& one) { return one.difference.has_value(); });
    nlohmann::ordered_json json = {{"failed", failed}, {"vectors", nlohmann::json::array()}};
    Table table;
    table.Column("vector").Column("configuration").Column("result");
    for (const Outcome& one : outcomes) {
      table.Row({one.name, one.configuration, one.difference ? "FAIL: " + *one.difference : "pass" + one.what});
      json["vectors"].push_back({{"file", one.file},
                                 {"name", one.name},
                                 {"pass", !one.difference.has_value()},
                                 {"difference", one.difference.value_or("")}});
    }
    if (json_ == "-") {
      context.out << Dump(json);
    } else {
      context.out << table.ToString()
                  << fmt::format("\n{} of {} pass{}\n", std::ssize(outcomes) - failed, outcomes.size(), how);
      if (!json_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(json_, Dump(json)));
    }
    if (failed == 0) return OkStatus();
    return absl::DataLossError(fmt::format("{} of {} vectors fail", failed, outcomes.size()));
  }

 private:
  std::vector<std::string> arguments_;
  std::string json_;
};

class ExecCommand : public VectorsCommand {
 public:
  void Declare(CLI::App& app) {
    DeclareFiles(app, "Program vectors (NAME.json), or folders of them");
    app.add_option("--orders", orders_,
                   "In how many orders of the stages each runs: the 6 fixed ones, then random ones")
        ->check(InRange(1, 100000))
        ->type_name("N")
        ->capture_default_str();
    app.footer("Example:\n  kiln vta exec vectors/ --orders 20");
  }

  Status Run(Context& context) const {
    KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> files, Files(vta::IsProgramVector, "vta-vector-1"));
    std::vector<Outcome> outcomes;
    Progress progress = context.StartProgress("vectors", std::ssize(files));
    for (const fs::path& file : files) {
      const auto read = vta::ReadProgramVector(file);
      if (!read.ok()) {
        // One of many in a folder does not keep the others from running.
        if (IsNamed(file)) return read.status();
        outcomes.push_back({file.string(), file.stem().string(), "", "", MessageOf(read.status())});
        continue;
      }
      const vta::ProgramVector& vector = *read;
      Outcome one{file.string(), vector.name, vta::SizesOf(vector.config), "", std::nullopt};
      if (vector.fault.has_value()) one.what = fmt::format(", stopped with {}", *vector.fault);
      for (int order = 0; order < orders_ && !one.difference.has_value(); ++order) {
        one.difference = vta::FindDifference(vector, static_cast<uint64_t>(order));
        if (one.difference.has_value()) *one.difference += fmt::format(" (order {})", order);
      }
      outcomes.push_back(std::move(one));
      progress.Update(std::ssize(outcomes));
    }
    return Report(context, outcomes, fmt::format(", in {} orders of the stages", orders_));
  }

 private:
  int orders_ = 10;
};

class ReplayCommand : public VectorsCommand {
 public:
  void Declare(CLI::App& app) {
    DeclareFiles(app, "Runtime vectors (NAME.json), or folders of them");
    app.add_option("--device", device_, "What runs the programs: functional")->type_name("NAME")->capture_default_str();
    app.footer("Example:\n  kiln vta replay vectors/runtime_api");
  }

  Status Run(Context& context) const {
    KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> files, Files(vta::IsRuntimeVector, "vta-rtapi-1"));
    std::vector<Outcome> outcomes;
    Progress progress = context.StartProgress("vectors", std::ssize(files));
    for (const fs::path& file : files) {
      const auto read = vta::ReadRuntimeVector(file);
      if (!read.ok()) {
        if (IsNamed(file)) return read.status();
        outcomes.push_back({file.string(), file.stem().string(), "", "", MessageOf(read.status())});
        continue;
      }
      const vta::RuntimeVector& vector = *read;
      Outcome one{file.string(), vector.name, vta::SizesOf(vector.config), "", std::nullopt};
      KILN_ASSIGN_OR_RETURN(one.difference, vta::Replay(vector, device_));
      outcomes.push_back(std::move(one));
      progress.Update(std::ssize(outcomes));
    }
    return Report(context, outcomes, "");
  }

 private:
  std::string device_ = "functional";
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
      context.out << Dump(json);
    } else {
      context.out << (result.findings.empty() ? std::string("nothing found\n") : table.ToString()) << '\n'
                  << "portable to HLS     " << Reasons(result.hls) << '\n'
                  << "portable to Chisel  " << Reasons(result.chisel) << '\n'
                  << "hazards             " << (result.hazard_free ? "none" : "an accumulator is used again too soon")
                  << '\n';
      if (!json_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(json_, Dump(json)));
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
    app.add_option(
           "-o,--output", output_,
           assembles_ ? "Where the program goes; - is standard output" : "Where the text goes; - is standard output")
        ->required(assembles_)
        ->type_name("FILE");
    app.footer(assembles_ ? "Example:\n  kiln vta assemble program.txt -o program.bin"
                          : "Example:\n  kiln vta disassemble program.bin");
  }

  Status Run(Context& context) const {
    KILN_RETURN_IF_ERROR(CheckOutput(output_));
    KILN_ASSIGN_OR_RETURN(const vta::Config config, vta::LoadConfig(config_));
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
    app.footer("Example:\n  kiln vta exec vectors/");
  }

  Status Run(Context& context) override {
    if (exec_app_->parsed()) return exec_.Run(context);
    if (replay_app_->parsed()) return replay_.Run(context);
    if (lint_app_->parsed()) return lint_.Run(context);
    if (assemble_app_->parsed()) return assemble_.Run(context);
    return disassemble_.Run(context);
  }

 private:
  ExecCommand exec_;
  ReplayCommand replay_;
  LintCommand lint_;
  TextCommand assemble_{true}, disassemble_{false};
  CLI::App *exec_app_ = nullptr, *replay_app_ = nullptr, *lint_app_ = nullptr, *assemble_app_ = nullptr,
           *disassemble_app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeVtaCommand() { return std::make_unique<VtaCommand>(); }

}  // namespace kiln::cli
