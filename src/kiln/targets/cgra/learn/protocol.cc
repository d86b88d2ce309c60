// The messages between `kiln cgra train` and the program that trains.

#include "kiln/targets/cgra/learn/protocol.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "kiln/support/json_reader.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/cgra/graph/graph_file.h"

namespace kiln::cgra {
namespace {

constexpr const char* kSource = "training";
constexpr uint64_t kMostFrame = uint64_t{64} << 20;  // bytes

// Calls `visit(key, member)` for every number of the options, so that both directions agree.
template <typename Options, typename Visit>
void VisitOptions(Options& o, const Visit& visit) {
  visit("seed", o.seed);
  visit("iterations", o.iterations);
  visit("problems", o.problems);
  visit("episodes", o.episodes);
  visit("epochs", o.epochs);
  visit("minibatch", o.minibatch);
  visit("most_instructions", o.most_instructions);
  visit("most_tiles", o.most_tiles);
  visit("discount", o.discount);
  visit("gae_lambda", o.gae_lambda);
  visit("lambda", o.lambda);
  visit("delay_weight", o.delay_weight);
  visit("bound_weight", o.bound_weight);
  visit("mask", o.mask);
  visit("look_ahead", o.look_ahead);
  visit("threads", o.threads);
  visit("graph", o.shape.graph);
  visit("attention", o.shape.attention);
  visit("stacked", o.shape.stacked);
  visit("clip", o.ppo.clip);
  visit("entropy", o.ppo.entropy);
  visit("value", o.ppo.value);
  visit("rate", o.ppo.rate);
  visit("gradient_limit", o.ppo.gradient_limit);
}

template <typename Point, typename Visit>
void VisitPoint(Point& p, const Visit& visit) {
  visit("iteration", p.iteration);
  visit("steps", p.steps);
  visit("reward", p.reward);
  visit("mapped", p.mapped);
  visit("latency", p.latency);
  visit("entropy", p.entropy);
  visit("policy_loss", p.policy_loss);
  visit("value_loss", p.value_loss);
}

// Writes numbers of an object; a number that is not finite becomes null.
auto NumberWriter(nlohmann::ordered_json* json) {
  return [json](const char* key, const auto& value) { (*json)[key] = value; };
}

// Reads them back; the first fault stays in `status`.
auto NumberReader(const Json& json, Status* status) {
  return [&json, status](const char* key, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    const auto at = json.find(key);
    const bool fits =
        at != json.end() && (std::is_same_v<Value, bool> ? at->is_boolean()
                             : std::is_integral_v<Value> ? at->is_number_integer()
                                                         : at->is_number() || at->is_null());
    if (!fits) {
      if (status->ok()) {
        *status = ErrorAt(kSource, fmt::format("key '{}'", key), "is missing or no such value",
                          "what this version of kiln sends");
      }
      return;
    }
    if constexpr (std::is_floating_point_v<Value>) {
      value = at->is_null() ? std::numeric_limits<Value>::quiet_NaN() : at->template get<Value>();
    } else {
      value = at->template get<Value>();
    }
  };
}

// Names of options in the numbers of a state begin with this.
constexpr std::string_view kOption = "option.";

uint64_t BitsOf(double value) { return std::bit_cast<uint64_t>(value); }
template <typename Integer>
uint64_t BitsOf(Integer value) {
  return static_cast<uint64_t>(value);
}

uint64_t DigestOf(const std::vector<ComputationGraph>& graphs) {
  std::string text;
  for (const ComputationGraph& graph : graphs) text += PrintGraphJson(graph);
  const std::vector<uint8_t> digest =
      Sha256Of(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  uint64_t bits = 0;
  for (size_t byte = 0; byte < 8; ++byte) bits |= uint64_t{digest[byte]} << (8 * byte);
  return bits;
}

// Returns a value as the user knows it.
std::string ValueText(const bool& /*type*/, uint64_t bits) { return bits != 0 ? "true" : "false"; }
std::string ValueText(const double& /*type*/, uint64_t bits) {
  return fmt::format("{}", std::bit_cast<double>(bits));
}
template <typename Integer>
std::string ValueText(const Integer& /*type*/, uint64_t bits) {
  return fmt::format("{}", static_cast<Integer>(bits));
}

StatusOr<Json> ReadObject(std::string_view text) {
  KILN_ASSIGN_OR_RETURN(Json json, ParseJson(text, kSource));
  if (!json.is_object()) return ErrorAt(kSource, "", "is no JSON object", "an object");
  return json;
}

}  // namespace

std::string FrameHeader(const Frame& frame) {
  std::string header(1, frame.kind);
  for (int byte = 0; byte < 8; ++byte) {
    header.push_back(static_cast<char>(frame.bytes.size() >> (8 * byte)));
  }
  return header;
}

StatusOr<uint64_t> FrameLength(std::string_view header) {
  uint64_t length = 0;
  for (size_t byte = 0; byte < 8; ++byte) {
    length |= uint64_t{static_cast<uint8_t>(header[1 + byte])} << (8 * byte);
  }
  if (length > kMostFrame) {
    return ErrorAt(kSource, "", fmt::format("a frame has {} bytes", length),
                   fmt::format("at most {}", kMostFrame));
  }
  return length;
}

std::string PrintTrainRequest(const TrainOptions& options, int state_every) {
  nlohmann::ordered_json json;
  VisitOptions(options, NumberWriter(&json));
  json["state_every"] = state_every;
  json["graphs"] = nlohmann::json::array();
  for (const ComputationGraph& graph : options.graphs) {
    json["graphs"].push_back(PrintGraphJson(graph));
  }
  return json.dump();
}

StatusOr<TrainRequest> ParseTrainRequest(std::string_view text) {
  KILN_ASSIGN_OR_RETURN(const Json json, ReadObject(text));
  TrainRequest request;
  Status status = OkStatus();
  const auto read = NumberReader(json, &status);
  VisitOptions(request.options, read);
  read("state_every", request.state_every);
  KILN_RETURN_IF_ERROR(status);
  const auto graphs = json.find("graphs");
  if (graphs == json.end() || !graphs->is_array()) {
    return ErrorAt(kSource, "key 'graphs'", "is missing or no list", "a list of graphs");
  }
  for (const Json& graph : *graphs) {
    if (!graph.is_string()) return ErrorAt(kSource, "key 'graphs'", "holds no text", "graphs");
    KILN_ASSIGN_OR_RETURN(ComputationGraph read_graph,
                          ParseGraphJson(graph.get_ref<const std::string&>(), kSource));
    request.options.graphs.push_back(std::move(read_graph));
  }
  return request;
}

void RecordOptions(const TrainOptions& options, TrainingState* state) {
  VisitOptions(options, [&](std::string_view key, const auto& value) {
    state->numbers[fmt::format("{}{}", kOption, key)] = BitsOf(value);
  });
  state->numbers[fmt::format("{}graphs", kOption)] = DigestOf(options.graphs);
}

Status CheckResumed(const TrainOptions& options, const TrainingState& state,
                    const std::string& source) {
  Status status = OkStatus();
  const auto refuse = [&](const std::string& what, const std::string& right) {
    if (status.ok()) status = ErrorAt(source, "the state of training", what, right);
  };
  const auto find = [&](std::string_view key) -> std::optional<uint64_t> {
    const auto at = state.numbers.find(fmt::format("{}{}", kOption, key));
    if (at == state.numbers.end()) return std::nullopt;
    return at->second;
  };
  for (const char* needed : {"iteration", "steps"}) {
    if (!state.numbers.contains(needed)) {
      refuse(fmt::format("has no number '{}'", needed), "a state that training wrote");
    }
  }
  VisitOptions(options, [&](std::string_view key, const auto& value) {
    const std::optional<uint64_t> saved = find(key);
    if (!saved) {
      refuse(fmt::format("does not say its option '{}'", key),
             "a state that this version of Kiln wrote");
    } else if (*saved != BitsOf(value)) {
      refuse(fmt::format("began with the option '{}' at {}, not {}", key, ValueText(value, *saved),
                         ValueText(value, BitsOf(value))),
             "the options that it began with");
    }
  });
  if (find("graphs") != DigestOf(options.graphs)) {
    refuse("began with other graphs to train on", "the options that it began with");
  }
  if (!(state.weights.shape == options.shape)) {
    refuse("has a policy of another shape", "the options that it began with");
  }
  if (status.ok() && state.numbers.at("iteration") >= static_cast<uint64_t>(options.iterations)) {
    refuse(fmt::format("has all its {} iterations behind it", options.iterations),
           "the state of a training that is not at its end");
  }
  return status;
}

std::string PrintPoint(const CurvePoint& point) {
  nlohmann::ordered_json json;
  VisitPoint(point, NumberWriter(&json));
  return json.dump();
}

StatusOr<CurvePoint> ParsePoint(std::string_view text) {
  KILN_ASSIGN_OR_RETURN(const Json json, ReadObject(text));
  CurvePoint point;
  Status status = OkStatus();
  VisitPoint(point, NumberReader(json, &status));
  KILN_RETURN_IF_ERROR(status);
  return point;
}

}  // namespace kiln::cgra
