// Reads and writes trained thresholds as JSON.

#include "kiln/targets/binary/compile/trained_thresholds.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/json_reader.h"
#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {
namespace {

// Returns the error for a layer.
Status Wrong(std::string_view source, std::string_view layer, std::string_view fault,
             std::string_view remedy) {
  return ErrorAt(source, fmt::format("layer {}", QuotedExcerpt(layer)), fault, remedy);
}

std::string Steps(int steps) { return fmt::format("{} step{}", steps, steps == 1 ? "" : "s"); }

// Returns the number of steps that a key names; 0 if it is none.
int StepsOf(std::string_view key) {
  int steps = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), steps);
  if (error != std::errc() || end != key.data() + key.size()) return 0;
  return steps > 0 && steps < kMostLookupSteps ? steps : 0;
}

}  // namespace

StatusOr<TrainedThresholds> ParseThresholds(std::string_view text, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  if (!json.is_object())
    return ErrorAt(source, "", "is no object of layers", "an object with a key for each layer");
  TrainedThresholds thresholds;
  for (const auto& [layer, tests] : json.items()) {
    if (!tests.is_object())
      return Wrong(source, layer, "is no object of tests", "an object with a key for each test");
    for (const auto& [key, values] : tests.items()) {
      const int steps = StepsOf(key);
      if (steps == 0) {
        return Wrong(source, layer,
                     fmt::format("the key {} is no number of steps", QuotedExcerpt(key)),
                     fmt::format("a whole number from 1 to {}", kMostLookupSteps - 1));
      }
      if (!values.is_array())
        return Wrong(source, layer, "a test has no list", "a list with a number for each channel");
      const auto [test, is_new] = thresholds[layer].try_emplace(steps);
      // "1" and "01" name the same test.
      if (!is_new)
        return Wrong(source, layer, fmt::format("has the test after {} twice", Steps(steps)),
                     "once");
      std::vector<double>& list = test->second;
      for (const Json& value : values) {
        if (!value.is_number() || !std::isfinite(value.get<double>()))
          return Wrong(source, layer, "a threshold is no finite number", "numbers only");
        list.push_back(value.get<double>());
      }
    }
  }
  return thresholds;
}

StatusOr<std::string> PrintThresholds(const TrainedThresholds& thresholds) {
  Json json = Json::object();
  for (const auto& [layer, tests] : thresholds) {
    Json& of_layer = json[layer] = Json::object();
    for (const auto& [steps, values] : tests) of_layer[fmt::format("{}", steps)] = values;
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  KILN_ASSIGN_OR_RETURN(const TrainedThresholds again, ParseThresholds(text, ""));
  for (const auto& [layer, tests] : thresholds) {
    if (tests.empty() || again.contains(layer)) continue;
    return Wrong("", layer, "has a name that is not UTF-8, which JSON cannot express",
                 "rename it in the model");
  }
  return text;
}

StatusOr<TrainedThresholds> ThresholdsOf(const Graph& graph) {
  const auto found = graph.metadata().find(std::string(kThresholdsMetadataKey));
  if (found == graph.metadata().end()) return TrainedThresholds();
  const std::string source =
      fmt::format("{}: metadata '{}'", graph.source(), kThresholdsMetadataKey);
  KILN_ASSIGN_OR_RETURN(TrainedThresholds thresholds, ParseThresholds(found->second, source));
  for (const auto& [layer, tests] : thresholds) {
    const Value* value = graph.FindValue(layer);
    if (value == nullptr) {
      return Wrong(source, layer, "is no value of the network",
                   "train the thresholds on this model, with the same recipe");
    }
    const Shape& shape = value->shape();
    const int64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    for (const auto& [steps, list] : tests) {
      if (std::ssize(list) != channels) {
        return Wrong(source, layer,
                     fmt::format("has {} thresholds after {}", list.size(), Steps(steps)),
                     fmt::format("{}, one for each channel", channels));
      }
    }
  }
  return thresholds;
}

}  // namespace kiln::binary
