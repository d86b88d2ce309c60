// Runs the test models of the ONNX standard (Debian package libonnx-testdata) on the reference
// executor and compares with the standard's outputs at the standard's tolerances.
//
//   onnx_backend_test DATA_FOLDER [--report FOLDER] [--mode direct|clean-up|round-trip]
//                     [--filter TEXT] [--expected FILE]
//
//   direct      import, run
//   clean-up    import, run the clean-up passes, run
//   round-trip  import, export, import again, run
//
// A test with an operator or feature that Kiln does not support counts as unsupported, with the
// message of the importer or executor. With --expected, the program compares every outcome with the
// one that FILE lists (tests/onnx/expected.txt). It fails if an outcome differs, even for the
// better, and if a test occurs only in the data or only in the file. Without --expected, it fails
// if a supported test does not reproduce its outputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/file.h"
#include "onnx/onnx_pb.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// onnx/backend/test/case/test_case.py: the defaults of every test.
constexpr double kRelativeTolerance = 1e-3;
constexpr double kAbsoluteTolerance = 1e-7;
constexpr int kSkipped = 77;  // what CTest is told means "skipped"
constexpr const char* kGroups[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};

enum class Mode { kDirect, kCleanUp, kRoundTrip };
enum class Outcome { kPassed, kFailed, kUnsupported };
constexpr const char* kOutcomeNames[] = {"passed", "failed", "unsupported"};
constexpr const char* kOutcomeWords[] = {"passes", "fails", "refused"};  // in expected.txt

struct Result {
  std::string test;
  Outcome outcome = Outcome::kPassed;
  std::string reason;
  std::set<std::string> operators;
};

struct Counts {
  int by_outcome[3] = {0, 0, 0};
  int& operator[](Outcome outcome) { return by_outcome[static_cast<int>(outcome)]; }
};

bool Close(double value, double expected, double relative) {
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected) || std::isinf(value)) return value == expected;
  return std::abs(value - expected) <= kAbsoluteTolerance + relative * std::abs(expected);
}

// What differs, or "".
std::string Compare(const Tensor& value, const Tensor& expected) {
  if (value.type() != expected.type()) {
    return fmt::format("is {} instead of {}", NameOf(value.type()), NameOf(expected.type()));
  }
  if (!(value.shape() == expected.shape())) {
    return fmt::format("has shape {} instead of {}", value.shape().ToString(),
                       expected.shape().ToString());
  }
  if (!IsFloat(value.type())) return value == expected ? "" : "has other values";
  // The data of bfloat16 results was truncated, where ONNX today and Kiln round to nearest: one
  // unit in the last place.
  const double relative = value.type() == ElementType::kBfloat16 ? 0x1p-7 : kRelativeTolerance;
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < value.size(); ++i) {
    if (Close(value.ValueAt(i), expected.ValueAt(i), relative)) continue;
    if (wrong++ == 0)
      first =
          fmt::format("element {} is {} instead of {}", i, value.ValueAt(i), expected.ValueAt(i));
  }
  return wrong == 0 ? "" : fmt::format("{} of {} elements differ, {}", wrong, value.size(), first);
}

// The data sets keep bfloat16 tensors as uint16 bits; under the type that the model declares they
// are themselves.
Tensor AsDeclared(Tensor tensor, ElementType declared) {
  if (tensor.type() != ElementType::kUint16 || declared != ElementType::kBfloat16) return tensor;
  const Tensor bits = tensor.Clone();
  return Tensor::View(declared, tensor.shape(), std::make_shared<Tensor>(bits), bits.bytes());
}

// The tensors PREFIX_0.pb, PREFIX_1.pb, ... of a data set.
StatusOr<std::vector<Tensor>> ReadTensors(const fs::path& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(path)) return tensors;
    auto bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.status();
    auto tensor = ImportOnnxTensor(*bytes, path.string());
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
}

// Imports the model. Where a data set has another input shape than the model declares, the data set
// is right (four tests of CastLike).
StatusOr<Graph> ImportForData(const fs::path& model) {
  auto graph = ImportOnnx(model);
  if (!graph.ok()) return graph;
  auto inputs = ReadTensors(model.parent_path() / "test_data_set_0", "input");
  if (!inputs.ok()) return inputs.status();
  ImportOptions options;
  for (size_t i = 0; i < std::min(inputs->size(), graph->inputs().size()); ++i) {
    const Value& input = *graph->inputs()[i];
    const TensorType given{input.element(), (*inputs)[i].shape()};
    if (!Compatible(input.type(), given)) options.input_shapes[input.name()] = *given.shape;
  }
  return options.input_shapes.empty() ? std::move(graph) : ImportOnnx(model, options);
}

StatusOr<Graph> Prepare(const fs::path& model, Mode mode) {
  auto graph = ImportForData(model);
  if (!graph.ok() || mode == Mode::kDirect) return graph;
  if (mode == Mode::kCleanUp) {
    PassContext context;
    const Status status = RunPasses(*graph, CleanUpPipeline(), context);
    if (!status.ok()) return status;
    return graph;
  }
  auto bytes = ExportOnnxBytes(*graph);
  if (!bytes.ok()) return bytes.status();
  return ImportOnnxBytes(*bytes, model.string(), model.parent_path());
}

Status RunDataSet(const Graph& graph, const ReferenceExecutor& executor, const fs::path& folder) {
  auto inputs = ReadTensors(folder, "input");
  if (!inputs.ok()) return inputs.status();
  auto expected = ReadTensors(folder, "output");
  if (!expected.ok()) return expected.status();
  if (inputs->size() != graph.inputs().size()) {
    return absl::InternalError(
        fmt::format("{} inputs given, the graph has {}", inputs->size(), graph.inputs().size()));
  }
  for (size_t i = 0; i < inputs->size(); ++i) {
    (*inputs)[i] = AsDeclared((*inputs)[i], graph.inputs()[i]->element());
  }
  auto outputs = executor.Run(*inputs);
  if (!outputs.ok()) return outputs.status();
  if (outputs->size() != expected->size()) {
    return absl::InternalError(
        fmt::format("{} outputs instead of {}", outputs->size(), expected->size()));
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const Tensor reference = AsDeclared((*expected)[i], graph.outputs()[i]->element());
    const std::string difference = Compare((*outputs)[i], reference);
    if (!difference.empty()) return absl::InternalError(fmt::format("output {} {}", i, difference));
  }
  return OkStatus();
}

Status RunTest(const fs::path& folder, Mode mode) {
  auto graph = Prepare(folder / "model.onnx", mode);
  if (!graph.ok()) return graph.status();
  auto executor = ReferenceExecutor::Create(*graph);
  if (!executor.ok()) return executor.status();
  int data_sets = 0;
  for (; fs::is_directory(folder / fmt::format("test_data_set_{}", data_sets)); ++data_sets) {
    const Status status =
        RunDataSet(*graph, **executor, folder / fmt::format("test_data_set_{}", data_sets));
    if (!status.ok()) return status;
  }
  return data_sets > 0 ? OkStatus() : absl::InternalError("has no data set");
}

std::set<std::string> OperatorsOf(const fs::path& model) {
  std::set<std::string> operators;
  const auto bytes = ReadFile(model);
  onnx::ModelProto proto;
  if (!bytes.ok() || !proto.ParseFromString(*bytes)) return operators;
  for (const auto& node : proto.graph().node()) {
    operators.insert(node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type());
  }
  return operators;
}

// Messages without the path of the model, which the line names already.
std::string Reason(const Status& status, const fs::path& model) {
  std::string text = MessageOf(status);
  const std::string prefix = model.string() + ": ";
  if (text.rfind(prefix, 0) == 0) text.erase(0, prefix.size());
  return text;
}

struct Settings {
  fs::path data;
  fs::path report;
  Mode mode = Mode::kDirect;
  std::string filter;
  fs::path expected;
};

std::optional<Settings> ParseSettings(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) return std::nullopt;
  Settings settings;
  settings.data = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--report") {
      settings.report = value;
    } else if (flag == "--filter") {
      settings.filter = value;
    } else if (flag == "--expected") {
      settings.expected = value;
    } else if (flag == "--mode") {
      if (value != "direct" && value != "clean-up" && value != "round-trip") return std::nullopt;
      settings.mode = value == "direct"     ? Mode::kDirect
                      : value == "clean-up" ? Mode::kCleanUp
                                            : Mode::kRoundTrip;
    } else {
      return std::nullopt;
    }
  }
  return settings;
}

std::string PerOperator(const std::vector<Result>& results) {
  std::map<std::string, Counts> operators;
  for (const Result& result : results) {
    for (const std::string& name : result.operators) ++operators[name][result.outcome];
  }
  std::string text =
      fmt::format("{:<44}{:>8}{:>8}{:>13}\n", "operator", "passed", "failed", "unsupported");
  for (auto& [name, counts] : operators) {
    text += fmt::format("{:<44}{:>8}{:>8}{:>13}\n", name, counts[Outcome::kPassed],
                        counts[Outcome::kFailed], counts[Outcome::kUnsupported]);
  }
  return text;
}

// The outcomes in words that the file states for the mode, by test. A line is "WORD TEST", or
// "WORD/WORD/WORD TEST" where the modes differ.
StatusOr<std::map<std::string, std::string>> ReadExpected(const fs::path& file, Mode mode) {
  const auto text = ReadFile(file);
  if (!text.ok()) return text.status();
  std::map<std::string, std::string> expected;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const size_t blank = line.find(' ');
    std::vector<std::string> words;
    std::istringstream parts(line.substr(0, blank));
    for (std::string word; std::getline(parts, word, '/');) words.push_back(word);
    if (blank == std::string::npos || (words.size() != 1 && words.size() != 3)) {
      return ErrorAt(file.string(), fmt::format("line {}", number), "is not an outcome and a test",
                     "passes node/test_abs");
    }
    expected[line.substr(blank + 1)] =
        words.size() == 1 ? words[0] : words[static_cast<size_t>(mode)];
  }
  return expected;
}

// What differs from the list, a line each.
std::string Differences(const std::vector<Result>& results,
                        std::map<std::string, std::string> expected, const std::string& filter) {
  std::string text;
  for (const Result& result : results) {
    const std::string is = kOutcomeWords[static_cast<int>(result.outcome)];
    const auto at = expected.find(result.test);
    const std::string stated = at == expected.end() ? "not listed" : at->second;
    if (is != stated) {
      text += fmt::format("{}: {}, listed: {}{}\n", result.test, is, stated,
                          result.reason.empty() ? "" : " (" + result.reason + ")");
    }
    if (at != expected.end()) expected.erase(at);
  }
  for (const auto& [test, stated] : expected) {
    if (test.find(filter) == std::string::npos) continue;
    text += fmt::format("{}: is not in the data, listed: {}\n", test, stated);
  }
  return text;
}

int Main(int argc, char** argv) {
  const std::optional<Settings> settings = ParseSettings(argc, argv);
  if (!settings) {
    fmt::print(stderr,
               "usage: onnx_backend_test DATA_FOLDER [--report FOLDER] [--mode "
               "direct|clean-up|round-trip] "
               "[--filter TEXT] [--expected FILE]\n");
    return 2;
  }
  if (!fs::is_directory(settings->data)) {
    fmt::print("{} is not there (Debian package libonnx-testdata): skipped\n",
               settings->data.string());
    return kSkipped;
  }
  std::vector<Result> results;
  for (const char* group : kGroups) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(settings->data / group)) {
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
      Result result;
      result.test = std::string(group) + "/" + folder.filename().string();
      if (result.test.find(settings->filter) == std::string::npos) continue;
      const Status status = RunTest(folder, settings->mode);
      if (!status.ok()) {
        const bool unsupported = status.code() == StatusCode::kUnimplemented;
        result.outcome = unsupported ? Outcome::kUnsupported : Outcome::kFailed;
        result.reason = Reason(status, folder / "model.onnx");
      }
      result.operators = OperatorsOf(folder / "model.onnx");
      results.push_back(std::move(result));
    }
  }

  Counts total;
  std::string lists[3];
  for (const Result& result : results) {
    ++total[result.outcome];
    std::string& list = lists[static_cast<int>(result.outcome)];
    list += result.test;
    if (!result.reason.empty()) list += ": " + result.reason;
    list += '\n';
  }
  const std::string operators = PerOperator(results);
  const std::string summary =
      fmt::format("{} tests: {} passed, {} failed, {} unsupported\n", results.size(),
                  total[Outcome::kPassed], total[Outcome::kFailed], total[Outcome::kUnsupported]);
  if (!settings->report.empty()) {
    fs::create_directories(settings->report);
    for (int i = 0; i < 3; ++i) {
      const Status status =
          WriteFile(settings->report / fmt::format("{}.txt", kOutcomeNames[i]), lists[i]);
      if (!status.ok()) fmt::print(stderr, "{}\n", MessageOf(status));
    }
    const Status status = WriteFile(settings->report / "operators.txt", operators + "\n" + summary);
    if (!status.ok()) fmt::print(stderr, "{}\n", MessageOf(status));
  }
  fmt::print("{}\nUnsupported:\n{}\nFailed:\n{}\n{}", operators, lists[2], lists[1], summary);
  if (settings->expected.empty()) return total[Outcome::kFailed] == 0 ? 0 : 1;
  const auto expected = ReadExpected(settings->expected, settings->mode);
  if (!expected.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(expected.status()));
    return 1;
  }
  const std::string differences = Differences(results, *expected, settings->filter);
  if (differences.empty()) return 0;
  fmt::print("\nOther than {} states (tests/onnx/write_expected writes it anew):\n{}",
             settings->expected.string(), differences);
  return 1;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
