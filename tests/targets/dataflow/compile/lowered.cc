#include "tests/targets/dataflow/compile/lowered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fmt/format.h"
#include "kiln/ir/text.h"
#include "kiln/targets/dataflow/compile/lower.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"

namespace kiln::dataflow {
namespace {

std::string TextOf(const MapShape& map, const CodeType& type) {
  return fmt::format("{}x{}x{} {}int{}", map.height, map.width, map.channels,
                     type.is_signed ? "" : "u", type.bits);
}

std::string NumbersOf(const Stage& s) {
  const Window& w = s.window;
  std::string text;
  if (s.kind == StageKind::kConvolution || s.kind == StageKind::kDepthwise ||
      s.kind == StageKind::kMaxPool) {
    text += fmt::format(" {}x{}", w.kernel_y, w.kernel_x);
    if (w.stride_y != 1 || w.stride_x != 1) text += fmt::format(" /{}x{}", w.stride_y, w.stride_x);
    if (w.pad_top != 0 || w.pad_left != 0)
      text += fmt::format(" pad {},{} of {}", w.pad_top, w.pad_left, w.pad_value);
    if (w.dilation_y != 1 || w.dilation_x != 1)
      text += fmt::format(" dilation {}x{}", w.dilation_y, w.dilation_x);
    text += fmt::format(" @{}x{}x{}", s.map.height, s.map.width, s.map.channels);
  }
  if (s.groups > 1) text += fmt::format(" groups {}", s.groups);
  if (!s.weights.empty()) text += fmt::format(" weights {}", s.weight_bits);
  if (s.kind == StageKind::kPad)
    text += fmt::format(" {},{},{} of {}", s.pad_top, s.pad_left, s.pad_front, s.pad_value);
  if (s.kind == StageKind::kRearrange)
    text += fmt::format(" {}x{} {}", s.factor_y, s.factor_x,
                        s.depth_to_space ? "depth to space" : "repeat");
  if (s.requantise.way == Requantise::Way::kThresholds)
    text += fmt::format(" thresholds {}", s.requantise.threshold_bits);
  if (s.requantise.way == Requantise::Way::kMultiply) text += " multiply";
  return text;
}

}  // namespace

Graph GraphOf(std::string body) {
  for (size_t at = 0; (at = body.find(" Q", at)) != std::string::npos;)
    body.replace(at, 2, " quant int8 per_tensor scale=[1.0]");
  auto graph = ParseGraph("graph \"t\" {\n" + body + "\n}\n", "test.kir");
  EXPECT_TRUE(graph.ok()) << MessageOf(graph.status()) << "\n" << body;
  return *std::move(graph);
}

StatusOr<Lowered> LowerText(const std::string& body, bool host, const Config& config) {
  CompileOptions options;
  options.host_fallback = host;
  return Lower(GraphOf(body), config, options);
}

std::string LayersOf(const std::string& body, const Config& config) {
  const auto lowered = LowerText(body, true, config);
  if (!lowered.ok()) return MessageOf(lowered.status());
  std::string text;
  for (const NetworkLayer& layer : lowered->layers) {
    text += fmt::format("{}{}:", NameOf(layer.stage.kind), NumbersOf(layer.stage));
    for (const int map : layer.inputs) {
      const NetworkMap& form = lowered->maps[static_cast<size_t>(map)];
      text += " " + TextOf(form.shape, form.type);
    }
    const NetworkMap& result = lowered->maps[static_cast<size_t>(layer.output)];
    text += " -> " + TextOf(result.shape, result.type) + "\n";
  }
  for (const KernelInfo& kernel : lowered->host_kernels)
    text += fmt::format("host {}: {}\n", kernel.operation, kernel.host_reason);
  return text;
}

std::vector<LayerFold> UnitFolds(const Lowered& network) {
  return std::vector<LayerFold>(network.layers.size());
}

namespace {

// Returns the codes that the host sends: numbers in the order of the input's tensor.
MapCodes Sent(const HostTensor& sent, const std::vector<double>& input) {
  const std::vector<float> numbers(input.begin(), input.end());
  const Tensor tensor = Tensor::Of(Shape{static_cast<int64_t>(numbers.size())}, numbers);
  const Quantisation& q = *sent.value->quantisation();
  const int64_t zero = q.zero_points.empty() ? 0 : q.zero_points[0];
  const Tensor ordered = Gather(tensor, sent.place.view);
  MapCodes codes;
  for (int64_t i = 0; i < ordered.size(); ++i)
    codes.push_back(std::llround(ordered.ValueAt(i) / q.scales[0]) + zero);
  return codes;
}

// Returns the values of a tensor that the host receives.
std::vector<double> ReceivedValues(const HostTensor& received, const MapCodes& codes) {
  std::vector<float> values;
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<double>(codes[i]);
    if (received.line.has_value()) {
      const ChannelLine& line = *received.line;
      const size_t c = i % line.factors.size();
      values.push_back(static_cast<float>(
          std::clamp(code * line.factors[c] + line.offsets[c], line.low, line.high)));
      continue;
    }
    const Quantisation& q = *received.value->quantisation();
    const double zero = q.zero_points.empty() ? 0 : q.zero_points[0];
    values.push_back(static_cast<float>((code - zero) * static_cast<double>(q.scales[0])));
  }
  const Tensor given =
      Gather(Tensor::Of(Shape{static_cast<int64_t>(values.size())}, values), received.place.view);
  std::vector<double> ordered;
  for (int64_t i = 0; i < given.size(); ++i) ordered.push_back(given.ValueAt(i));
  return ordered;
}

}  // namespace

std::vector<double> RunLowered(const Lowered& network, const std::vector<double>& input) {
  std::map<int, MapCodes> maps;
  std::vector<double> output;
  for (const NetworkStep& step : network.steps) {
    EXPECT_FALSE(step.host.has_value());
    const Pipeline pipeline = Assemble(network, step.segment, UnitFolds(network), {});
    const Status status = CheckPipeline(pipeline);
    EXPECT_TRUE(status.ok()) << MessageOf(status) << "\n" << PrintPipeline(pipeline);
    std::vector<MapCodes> codes;
    for (const int map : SourceMaps(network, step.segment)) {
      const int from = network.maps[static_cast<size_t>(map)].copied_from;
      const auto sent = std::ranges::find_if(
          step.sends, [&](const HostTensor& host) { return host.place.map == map; });
      codes.push_back(from >= 0 ? maps.at(from) : Sent(*sent, input));
    }
    const std::vector<MapCodes> results = FunctionalPipeline(pipeline).Run(codes);
    const std::vector<int> sinks = SinkMaps(network, step.segment);
    for (size_t i = 0; i < sinks.size(); ++i) maps[sinks[i]] = results[i];
    for (const HostTensor& received : step.receives) {
      if (received.value == network.graph.outputs()[0])
        output = ReceivedValues(received, maps.at(received.place.map));
    }
  }
  return output;
}

}  // namespace kiln::dataflow
