// Runs program vectors at the functional, cycle and rtl levels, and replays runtime vectors.
#include "kiln/targets/vta/command/vectors.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "kiln/command/checks.h"
#include "kiln/command/result_files.h"
#include "kiln/report/chrome_trace.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"
#include "kiln/targets/vta/command/config_option.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/program_vector.h"
#include "kiln/targets/vta/isa/timeline.h"
#include "kiln/targets/vta/run/run_vector.h"
#include "kiln/targets/vta/runtime/runtime_vector.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSteps = 1'000'000'000'000'000'000;

// An option of exec that has a meaning at some levels only. At other levels it is an error: a run
// that ignored it would not be the run that was requested.
struct Heeded {
  const char* option;
  std::set<std::string_view> levels;
  const char* fault;
};
const Heeded kHeeded[] = {
    {"--orders",
     {"functional"},
     "stages have an order at the functional level only; elsewhere they have time"},
    {"--trace", {"cycle"}, "what units do when is told by the cycle level only"},
    {"--designs", {"rtl"}, "designs are emitted and built at the rtl level only"},
    {"--on",
     {"cycle", "rtl"},
     "a design point says more than the vector's sizes only where there is time"},
};

// Returns the JSON files that the arguments name, each once: files themselves, and all files in
// folders and their subfolders.
StatusOr<std::vector<fs::path>> JsonFiles(const std::vector<std::string>& arguments) {
  std::set<fs::path> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      files.insert(argument);
      continue;
    }
    for (fs::recursive_directory_iterator at(argument, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() == ".json") files.insert(at->path());
    }
    if (error) return ErrorAt(argument, "", "cannot be read: " + error.message(), "");
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

// Returns the counters as JSON, by unit and name.
nlohmann::ordered_json JsonOf(const vta::Counters& counters) {
  nlohmann::ordered_json json;
  for (size_t i = 0; i < vta::kCounters; ++i) {
    const vta::CounterInfo& info = vta::CounterTable()[i];
    json[std::string(info.unit)][std::string(info.name)] = counters.values()[i];
  }
  return json;
}

// Returns the instructions of a timeline by number: "12: p--- GEMM uop[0,4) ...".
std::vector<KernelInfo> TextsOf(const vta::Timeline& timeline, const vta::Config& config) {
  const vta::Encoding encoding(config);
  std::vector<KernelInfo> texts;
  std::span<const uint8_t> words = timeline.program();
  for (; !words.empty(); words = words.subspan(vta::kInstructionBytes)) {
    KernelInfo& info = texts.emplace_back();
    info.name = fmt::format("{}: {}", texts.size() - 1,
                            vta::Disassemble(words.first<vta::kInstructionBytes>(), encoding));
  }
  return texts;
}

}  // namespace

void DeclareVtaSteps(CLI::App& app, uint64_t* steps) {
  app.add_option("--max-steps", *steps,
                 "The most steps (micro-op executions, elements moved; at the cycle level, cycles) "
                 "of a launch before it is "
                 "stopped")
      ->check(InRange(1, kMostSteps))
      ->type_name("N")
      ->capture_default_str();
}

void VectorsCommand::DeclareFiles(CLI::App& app, const char* what) {
  app.add_option("vectors", arguments_, what)->required()->type_name("FILE|DIR");
  app.add_option("--json", json_, "The results as JSON; - is standard output")->type_name("FILE");
}

bool VectorsCommand::IsNamed(const fs::path& file) const {
  return std::find(arguments_.begin(), arguments_.end(), file.string()) != arguments_.end();
}

bool VectorsCommand::IsOneFile() const {
  std::error_code error;
  return arguments_.size() == 1 && !fs::is_directory(arguments_[0], error);
}

Status VectorsCommand::RunEach(Context& context, const Kind& kind, const RunOne& run,
                               const std::string& how, const std::string& output) const {
  KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> files, JsonFiles(arguments_));
  KILN_RETURN_IF_ERROR(CheckOutputs({json_, output}, files));
  std::vector<Row> rows;
  std::string error_before;
  Progress progress = context.StartProgress("vectors", std::ssize(files));
  for (int64_t i = 0; i < std::ssize(files); ++i) {
    const fs::path& file = files[static_cast<size_t>(i)];
    progress.Update(i);
    const auto json = ReadJson(file);
    if (json.ok() && !IsNamed(file) && !kind.is_one(*json)) continue;
    auto outcome = json.ok() ? run(*json, file) : json.status();
    // An error in a file from a folder is that file's result. If two files in a row fail alike, the
    // cause is elsewhere, for example a missing tool.
    const std::string error = MessageOf(outcome.status());
    if (!outcome.ok() && (IsNamed(file) || error == error_before)) return outcome.status();
    error_before = error;
    if (!outcome.ok()) outcome = Outcome{file.stem().string(), "", "", error, std::nullopt};
    rows.push_back({file.string(), *std::move(outcome)});
  }
  if (rows.empty()) {
    return ErrorAt(arguments_[0], "", "holds no such vector", kind.what);
  }
  return Report(context, rows, how);
}

Status VectorsCommand::Report(Context& context, const std::vector<Row>& rows,
                              const std::string& how) const {
  int64_t failed = 0;
  nlohmann::ordered_json vectors = nlohmann::json::array();
  const bool timed = std::any_of(rows.begin(), rows.end(),
                                 [](const Row& row) { return row.outcome.time.has_value(); });
  Table table;
  table.Column("vector").Column("configuration");
  if (timed) table.Right("cycles");
  table.Column("result");
  for (const auto& [file, one] : rows) {
    if (one.difference.has_value()) ++failed;
    const bool same_name = one.name == fs::path(file).stem();
    std::vector<std::string> cells = {same_name ? file : fmt::format("{} ({})", file, one.name),
                                      one.configuration};
    if (timed) cells.push_back(one.time.has_value() ? fmt::format("{}", one.time->cycles) : "");
    cells.push_back(one.difference ? "FAIL: " + *one.difference : "pass" + one.what);
    table.Row(cells);
    vectors.push_back({{"file", file},
                       {"name", one.name},
                       {"pass", !one.difference.has_value()},
                       {"difference", one.difference.value_or("")}});
    if (!one.time.has_value()) continue;
    vectors.back()["cycles"] = one.time->cycles;
    vectors.back()["counters"] = JsonOf(one.time->counters);
  }
  const nlohmann::ordered_json json = {{"failed", failed}, {"vectors", std::move(vectors)}};
  const std::string text =
      table.ToString() +
      fmt::format("\n{} of {} pass{}\n", std::ssize(rows) - failed, rows.size(), how);
  KILN_RETURN_IF_ERROR(WriteResults(context.out, json_, text, JsonText(json)));
  if (failed == 0) return OkStatus();
  return absl::DataLossError(fmt::format("{} of {} vectors fail", failed, rows.size()));
}

void ExecCommand::Declare(CLI::App& app) {
  DeclareFiles(app,
               "Program vectors (NAME.json) or test vectors of the original's GEMM unit (JSON), or "
               "folders of them");
  app_ = &app;
  app.add_option("--level", level_,
                 "What runs them: functional; cycle, which tells cycles and counters, too; rtl, "
                 "the hardware simulated by "
                 "Verilator, whose cycles and counters are compared with those of the cycle level")
      ->check(CLI::IsMember({"functional", "cycle", "rtl"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  app.add_option("--orders", orders_,
                 "In how many orders of the stages each runs at the functional level: the 6 fixed "
                 "ones, then random ones")
      ->check(InRange(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--trace", trace_,
                 "Where it goes what each unit did when, with --level cycle and one file: JSON for "
                 "ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option(
         "--designs", designs_,
         "With --level rtl, where designs and their simulations go; default: a temporary folder")
      ->type_name("DIR");
  app.add_option("--on", machine_,
                 "With --level cycle or rtl, the machine whose time counts: a name (kiln list "
                 "accelerators), a YAML "
                 "file or the original's configuration (JSON), of the vectors' sizes; default: "
                 "those sizes, and what "
                 "else a design point has by default")
      ->type_name("ACCELERATOR");
  DeclareVtaSteps(app, &most_steps_);
  app.footer(
      "Examples:\n  kiln vta exec vectors/ --orders 20\n  kiln vta exec vectors/ --level cycle\n"
      "  kiln vta exec vectors/ --level rtl --designs designs");
}

Status ExecCommand::CheckHeeded() const {
  for (const Heeded& row : kHeeded) {
    if (IsGiven(*app_, row.option) && !row.levels.contains(level_)) {
      return ErrorAt("", row.option, row.fault,
                     fmt::format("leave it out, or choose --level {}", *row.levels.begin()));
    }
  }
  return OkStatus();
}

// A design point has timing that the vector lacks, but its sizes must be the vector's.
StatusOr<vta::ProgramVector> ExecCommand::Read(const Json& json, const fs::path& file,
                                               const std::optional<vta::Config>& machine) const {
  KILN_ASSIGN_OR_RETURN(vta::ProgramVector vector, vta::ParseProgramVector(json, file));
  if (!machine.has_value()) return vector;
  if (const std::string sizes = vta::SizesOf(vector.config); sizes != vta::SizesOf(*machine)) {
    return ErrorAt(file.string(), "key 'config'", "is of the sizes " + sizes,
                   fmt::format("--on {} has {}", machine_, vta::SizesOf(*machine)));
  }
  vector.config = *machine;
  return vector;
}

Status ExecCommand::Run(Context& context) const {
  const bool cycles = level_ == "cycle", hardware = level_ == "rtl";
  KILN_RETURN_IF_ERROR(CheckHeeded());
  if (!trace_.empty() && !IsOneFile())
    return ErrorAt("", "--trace", "is of one program", "name one file");
  KILN_RETURN_IF_ERROR(CheckOutputFolder(designs_));
  std::optional<vta::Config> machine;
  if (!machine_.empty()) {
    KILN_ASSIGN_OR_RETURN(machine, vta::FindConfig(machine_));
  }
  vta::RtlDesigns designs(designs_);
  const auto run = [&](const Json& json, const fs::path& file) -> StatusOr<Outcome> {
    KILN_ASSIGN_OR_RETURN(const vta::ProgramVector vector, Read(json, file, machine));
    Outcome one{vector.name, vta::SizesOf(vector.config), "", std::nullopt, std::nullopt};
    if (vector.fault.has_value()) one.what = fmt::format(", stopped with {}", *vector.fault);
    if (cycles) return RunCycles(vector, std::move(one));
    if (hardware) return RunHardware(vector, designs, std::move(one));
    one.difference = RunOrders(vector);
    return one;
  };
  const Kind kind = {vta::IsProgramVector,
                     fmt::format("files of format {}, or of the original's GEMM tests",
                                 vta::kProgramVectorFormat)};
  return RunEach(context, kind, run,
                 cycles     ? " at the cycle level"
                 : hardware ? " on the hardware, in the cycle level's cycles"
                            : fmt::format(", in {} orders of the stages", orders_),
                 trace_);
}

// Runs the vector in several orders of the stages; the vector's results must hold in all of them.
std::optional<std::string> ExecCommand::RunOrders(const vta::ProgramVector& vector) const {
  for (int order = 0; order < orders_; ++order) {
    const auto difference = vta::FindDifference(vector, static_cast<uint64_t>(order), most_steps_);
    if (difference.has_value()) return fmt::format("{} (order {})", *difference, order);
  }
  return std::nullopt;
}

StatusOr<VectorsCommand::Outcome> ExecCommand::RunCycles(const vta::ProgramVector& vector,
                                                         Outcome one) const {
  vta::RunTime time;
  vta::Timeline timeline;
  one.difference =
      vta::FindCycleDifference(vector, most_steps_, &time, trace_.empty() ? nullptr : &timeline);
  if (time.cycles > 0) one.time = time;
  if (!trace_.empty()) {
    KILN_RETURN_IF_ERROR(
        WriteOutput(trace_, ToChromeTrace(timeline.ToTrace(), TextsOf(timeline, vector.config))));
  }
  return one;
}

StatusOr<VectorsCommand::Outcome> ExecCommand::RunHardware(const vta::ProgramVector& vector,
                                                           vta::RtlDesigns& designs,
                                                           Outcome one) const {
  vta::RunTime time;
  KILN_ASSIGN_OR_RETURN(one.difference,
                        vta::FindRtlDifference(vector, designs, most_steps_, &time));
  if (time.cycles > 0) one.time = time;
  return one;
}

void ReplayCommand::Declare(CLI::App& app) {
  DeclareFiles(app, "Runtime vectors (NAME.json), or folders of them");
  app.add_option("--device", device_,
                 "What runs the programs: functional, cycle, rtl or remote:HOST:PORT")
      ->type_name("NAME")
      ->capture_default_str();
  app.footer("Example:\n  kiln vta replay vectors/runtime_api");
}

Status ReplayCommand::Run(Context& context) const {
  const auto run = [&](const Json& json, const fs::path& file) -> StatusOr<Outcome> {
    KILN_ASSIGN_OR_RETURN(const vta::RuntimeVector vector, vta::ParseRuntimeVector(json, file));
    Outcome one{vector.name, vta::SizesOf(vector.config), "", std::nullopt, std::nullopt};
    KILN_ASSIGN_OR_RETURN(one.difference, vta::Replay(vector, device_));
    return one;
  };
  const Kind kind = {[](const Json& json) { return HasFormat(json, vta::kRuntimeVectorFormat); },
                     fmt::format("files of format {}", vta::kRuntimeVectorFormat)};
  return RunEach(context, kind, run, "");
}

}  // namespace kiln::cli
