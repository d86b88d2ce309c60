// Reads the keys of a run's JSON that comparisons use, and checks their types.
#include "kiln/report/saved_run.h"

#include <fmt/format.h>

#include <cmath>

#include "kiln/report/run_report.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/json_reader.h"

namespace kiln {
namespace {

constexpr char kExpected[] = "the JSON of `kiln run --json` or `kiln compile --json`";
constexpr char kWriteAgain[] = "write the report again with this version of Kiln";

// Reads members of objects. An absent figure is null in the file. Keys of objects that are null are
// not read.
class RunReader {
 public:
  RunReader(std::string_view source, const Json& root)
      : reader_(std::string(source)), root_(root) {}

  StatusOr<SavedRun> Read(std::string_view source) {
    SavedRun run;
    run.file = source;
    const Json& model = At(root_, "model", "model");
    run.model = Text(model, "name", "model.name");
    run.macs = Number(model, "macs", "model.macs").value_or(0);
    if (const Json& machine = At(root_, "accelerator", "accelerator"); !machine.is_null()) {
      run.accelerator = Text(machine, "name", "accelerator.name");
      const Json& cost = At(machine, "cost", "accelerator.cost");
      run.area_um2 = Number(cost, "area_um2", "accelerator.cost.area_um2");
      run.area_incomplete = !reader_.List(cost, "missing", "accelerator.cost.missing").empty() &&
                            run.area_um2.has_value();
    }
    if (const Json& quantised = At(root_, "quantisation", "quantisation"); !quantised.is_null())
      run.format = Text(quantised, "format", "quantisation.format");
    if (const Json& memory = At(root_, "outer_memory", "outer_memory"); !memory.is_null())
      run.memory = Text(memory, "text", "outer_memory.text");
    if (!At(root_, "optimise", "optimise").is_null())
      run.objective = Text(root_, "optimise", "optimise");
    if (const Json& energy = At(root_, "energy", "energy"); !energy.is_null())
      run.picojoules = Number(energy, "picojoules_per_image", "energy.picojoules_per_image");
    if (const Json& performance = At(root_, "performance", "performance"); !performance.is_null())
      ReadPerformance(performance, &run);
    const Json& accuracy = At(root_, "accuracy", "accuracy");
    const char* const level = run.accelerator.empty() ? "fp32" : "quantised";
    const std::string path = fmt::format("accuracy.{}", level);
    if (const Json& counts = At(accuracy, level, path); !counts.is_null())
      run.accuracy = Number(counts, "top1", path + ".top1");
    run.utilisation = Number(root_, "utilisation", "utilisation");
    run.host_share = Number(root_, "host_share", "host_share").value_or(0);
    run.partial = Truth(root_, "partial", "partial");
    ReadKernels(&run);
    run.pipelined =
        !run.kernels_estimated && Number(root_, "interval_cycles", "interval_cycles").has_value();
    KILN_RETURN_IF_ERROR(reader_.status());
    return run;
  }

 private:
  void ReadPerformance(const Json& performance, SavedRun* run) {
    const auto number = [&](const char* key) {
      return Number(performance, key, fmt::format("performance.{}", key));
    };
    // The machine runs these images in the same time.
    const double images = std::max(1.0, number("images_at_once").value_or(1));
    const auto of_image = [&](std::optional<double> value) {
      if (value.has_value()) *value /= images;
      return value;
    };
    run->cycles = of_image(number("cycles"));
    run->latency = number("seconds");
    run->seconds = of_image(run->latency);
    run->images_per_second = number("images_per_second");
    run->watts = number("watts");
    run->mhz = number("at_mhz");
    run->estimated = Truth(performance, "cycles_estimated", "performance.cycles_estimated");
    run->clock_confirmed = Truth(performance, "clock_confirmed", "performance.clock_confirmed");
  }

  void ReadKernels(SavedRun* run) {
    const Json::array_t& kernels = reader_.List(root_, "kernels", "kernels");
    if (std::ssize(kernels) > budgets::kReportKernels) {
      reader_.Fail("kernels", fmt::format("{} are too many", kernels.size()),
                   fmt::format("at most {}", budgets::kReportKernels));
      return;
    }
    for (size_t k = 0; k < kernels.size() && reader_.status().ok(); ++k) {
      const Json& from = kernels[k];
      const auto path = [&](const char* key) { return fmt::format("kernels[{}].{}", k, key); };
      SavedKernel kernel;
      kernel.name = Text(from, "name", path("name"));
      kernel.operation = Text(from, "operation", path("operation"));
      const Json& reason = At(from, "host_reason", path("host_reason"));
      if (!reason.is_null()) reader_.Text(from, "host_reason", path("host_reason"));
      kernel.on_host = !reason.is_null();
      if (Has(from, "cycles")) {
        kernel.cycles = Number(from, "cycles", path("cycles"));
      } else if (!kernel.on_host) {
        const Json& proof = At(from, "certificate", path("certificate"));
        if (Text(proof, "unit", path("certificate.unit")) == "cycles") {
          kernel.cycles = Number(proof, "cost", path("certificate.cost"));
          run->kernels_estimated = true;
        }
      }
      run->kernels.push_back(std::move(kernel));
    }
  }

  static bool Has(const Json& object, const char* key) {
    return object.is_object() && object.contains(key);
  }
  // Returns the value of a key; null if it is missing, which is an error.
  const Json& At(const Json& object, const char* key, const std::string& path) {
    static const Json kNull;
    if (Has(object, key)) return object[key];
    if (reader_.status().ok()) reader_.Fail(path, "is missing", kWriteAgain);
    return kNull;
  }
  std::string Text(const Json& object, const char* key, const std::string& path) {
    At(object, key, path);
    return reader_.Text(object, key, path);
  }
  bool Truth(const Json& object, const char* key, const std::string& path) {
    const Json& value = At(object, key, path);
    if (value.is_boolean()) return value.get<bool>();
    reader_.Fail(path, Shown(value) + " is neither true nor false", "true or false");
    return false;
  }
  // Returns a number of at least 0; nullopt for null.
  std::optional<double> Number(const Json& object, const char* key, const std::string& path) {
    const Json& value = At(object, key, path);
    if (value.is_null()) return std::nullopt;
    if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
    reader_.Fail(path, Shown(value) + " is no figure", "a number of at least 0, or null");
    return std::nullopt;
  }

  JsonReader reader_;
  const Json& root_;
};

}  // namespace

StatusOr<SavedRun> ParseSavedRun(std::string_view text, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  if (!json.is_object() || !json.contains("kiln_report"))
    return ErrorAt(source, "", "is no report of a run", kExpected);
  if (const Json& version = json["kiln_report"]; version != kReportVersion) {
    return ErrorAt(source, "key 'kiln_report'", Shown(version) + " is another version",
                   fmt::format("{}: {}", kReportVersion, kWriteAgain));
  }
  return RunReader(source, json).Read(source);
}

StatusOr<SavedRun> ReadSavedRun(const std::filesystem::path& file) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, budgets::kJsonBytes));
  return ParseSavedRun(text, file.string());
}

}  // namespace kiln
