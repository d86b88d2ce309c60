#include "tests/targets/binary/compile/plain_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/ir/text.h"
#include "kiln/targets/binary/compile/network_program.h"
#include "kiln/targets/binary/run_network.h"

namespace kiln::binary {

std::string PlainCodes::Text() const {
  const std::string text = fmt::format(" quant {} per_tensor scale=[{:.12f}]", format, scale);
  return zero == 0 ? text : text + fmt::format(" zero=[{}]", zero);
}

double PlainConv::Weight(int n, int c, int ky, int kx) const {
  const int at = ((n * in + c) * kernel + ky) * kernel + kx;
  const double scale = scales[scales.size() == 1 ? 0 : static_cast<size_t>(n)];
  return codes[static_cast<size_t>(at)] * scale;
}

PlainMap PlainConv::Run(const PlainMap& map) const {
  PlainMap result;
  result.height = (map.height + 2 * pad - kernel) / stride + 1;
  result.width = (map.width + 2 * pad - kernel) / stride + 1;
  result.channels = out;
  for (int y = 0; y < result.height; ++y) {
    for (int x = 0; x < result.width; ++x) {
      for (int n = 0; n < out; ++n) {
        double sum = 0;
        for (int ky = 0; ky < kernel; ++ky) {
          for (int kx = 0; kx < kernel; ++kx) {
            const int iy = y * stride - pad + ky, ix = x * stride - pad + kx;
            if (iy < 0 || iy >= map.height || ix < 0 || ix >= map.width) continue;
            for (int c = 0; c < in; ++c) sum += Weight(n, c, ky, kx) * map.at(iy, ix, c);
          }
        }
        result.values.push_back(sum);
      }
    }
  }
  return result;
}

std::string PlainConv::Constant(const std::string& name, int bits) const {
  std::vector<std::string> weights, texts;
  for (int n = 0; n < out; ++n) {
    for (int c = 0; c < in; ++c) {
      for (int t = 0; t < kernel * kernel; ++t)
        weights.push_back(fmt::format("{:.12f}", Weight(n, c, t / kernel, t % kernel)));
    }
  }
  for (const double scale : scales) texts.push_back(fmt::format("{:.12f}", scale));
  return fmt::format("  const %{} : f32[{}x{}x{}x{}] quant int{} {} scale=[{}] = [{}]\n", name, out,
                     in, kernel, kernel, bits,
                     scales.size() == 1 ? "per_tensor" : "per_channel axis=0",
                     fmt::join(texts, ", "), fmt::join(weights, ", "));
}

std::string PlainConv::Node(const std::string& input, const std::string& name) const {
  return fmt::format(R"(conv %{}, %{} {{layout="nhwc", pads=[{}, {}, {}, {}], strides=[{}, {}]}})",
                     input, name, pad, pad, pad, pad, stride, stride);
}

PlainConv RandomConv(Random& random, int in, int out, int kernel, int low, int high) {
  PlainConv conv;
  conv.in = in;
  conv.out = out;
  conv.kernel = kernel;
  conv.pad = kernel / 2;
  for (int i = 0; i < out * in * kernel * kernel; ++i)
    conv.codes.push_back(static_cast<int>(random.Between(low, high)));
  conv.scales = {1};
  return conv;
}

PlainMap RandomMap(Random& random, int height, int width, int channels, const PlainCodes& codes) {
  PlainMap map = {height, width, channels, {}};
  for (int i = 0; i < height * width * channels; ++i) {
    const auto code = static_cast<int>(random.Between(codes.low, codes.high));
    map.values.push_back(random.Below(3) == 0 ? 0 : (code - codes.zero) * codes.scale);
  }
  return map;
}

PlainMap Relu(PlainMap map) {
  for (double& value : map.values) value = std::max(value, 0.0);
  return map;
}

PlainMap Sum(PlainMap a, const PlainMap& b) {
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

PlainMap Joined(const std::vector<PlainMap>& maps) {
  PlainMap joined = {maps[0].height, maps[0].width, 0, {}};
  for (const PlainMap& map : maps) joined.channels += map.channels;
  for (int y = 0; y < joined.height; ++y) {
    for (int x = 0; x < joined.width; ++x) {
      for (const PlainMap& map : maps) {
        for (int c = 0; c < map.channels; ++c) joined.values.push_back(map.at(y, x, c));
      }
    }
  }
  return joined;
}

PlainMap Rounded(PlainMap map, const PlainCodes& codes) {
  for (double& value : map.values) {
    const double code = std::floor(value / codes.scale + codes.zero + 0.5);
    value = (std::clamp<double>(code, codes.low, codes.high) - codes.zero) * codes.scale;
  }
  return map;
}

Graph GraphOf(const std::string& body) {
  auto graph = ParseGraph("graph \"t\" {\n" + body + "}\n", "test.kir");
  EXPECT_TRUE(graph.ok()) << MessageOf(graph.status()) << "\n" << body;
  return *std::move(graph);
}

std::string TypeOf(const PlainMap& map) {
  return fmt::format("f32[1x{}x{}x{}]", map.height, map.width, map.channels);
}

Compiled CompileAndRun(const Graph& graph, const Config& config, const PlainMap& map) {
  Compiled compiled;
  auto program = CompileNetwork(graph, config, CompileOptions());
  EXPECT_TRUE(program.ok()) << MessageOf(program.status());
  if (!program.ok()) return compiled;
  const auto& own = static_cast<const NetworkProgram&>(**program);
  for (const auto& launches : own.launches()) compiled.launches.push_back(std::ssize(launches));
  std::vector<float> values;
  for (const double value : map.values) values.push_back(static_cast<float>(value));
  const Batch batch{
      .inputs = {Tensor::Of<float>(Shape{1, map.height, map.width, map.channels}, values)}};
  NetworkCounts counts;
  const auto result = RunAndCount(own, batch, RunOptions(), &counts);
  EXPECT_TRUE(result.ok()) << MessageOf(result.status());
  if (!result.ok()) return compiled;
  for (const float value : result->outputs[0].ToFloats()) compiled.result.push_back(value);
  for (const auto& kernel : counts) {
    for (const StageCounts& stage : kernel) {
      compiled.decided += stage.decided;
      compiled.wrong += stage.wrong;
    }
  }
  compiled.program = *std::move(program);
  return compiled;
}

}  // namespace kiln::binary
