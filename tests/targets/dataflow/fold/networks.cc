// Stages of an FPGA model, and the networks that are built of them.
#include "tests/targets/dataflow/fold/networks.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/fold/plain_model.h"

namespace kiln::dataflow {
namespace {

enum MemoryKind { kInBram, kInUram, kInLut };

// Returns the least number of RAMB18 for `depth` words of `width` bits.
int64_t BlocksOf(int64_t width, int64_t depth) {
  static constexpr int kShapes[][2] = {{36, 512}, {18, 1024}, {9, 2048},
                                       {4, 4096}, {2, 8192},  {1, 16384}};
  int64_t least = kUnlimited;
  for (const auto& [bits, words] : kShapes) {
    least = std::min(least, CeilDivide(width, bits) * CeilDivide(depth, words));
  }
  return least;
}

Resources MemoryOf(MemoryKind kind, int64_t width, int64_t depth) {
  switch (kind) {
    case kInBram:
      return {0, BlocksOf(width, depth), 0, 0};
    case kInUram:
      return {0, 0, CeilDivide(width, 72) * CeilDivide(depth, 4096), 0};
    case kInLut:
      break;
  }
  return {0, 0, 0, width * CeilDivide(depth, 64)};
}

struct ConvShape {
  int64_t in_size, out_size;  // height and width
  int in_channels, out_channels, kernel;
  bool depthwise = false;
};

// Adds layers one after the other; each method returns the number of its layer.
class Builder {
 public:
  Builder(const StageModel& model, const Resources& limits) : model_(model) {
    problem_.limits = limits;
  }

  int Conv(std::string name, int from, const ConvShape& shape) {
    Layer layer;
    layer.name = std::move(name);
    const int64_t pixels = shape.out_size * shape.out_size;
    const int64_t products = int64_t{shape.in_channels} *
                             (shape.depthwise ? 1 : shape.out_channels) * shape.kernel *
                             shape.kernel;
    layer.operations = static_cast<double>(pixels * products);
    for (const int a : DivisorsOf(shape.in_channels)) {
      for (const int b : DivisorsOf(shape.out_channels)) {
        if (!shape.depthwise || a == b) AddFolds(layer, shape, a, b);
      }
    }
    return Add(std::move(layer), {from});
  }

  // A stage without weights that reads and writes `channels`.
  int Stage(std::string name, std::vector<int> from, int64_t in_size, int64_t out_size,
            int channels, int kernel) {
    Layer layer;
    layer.name = std::move(name);
    for (const int a : DivisorsOf(channels)) {
      Candidate candidate;
      candidate.in_lanes = candidate.out_lanes = a;
      candidate.cycles = in_size * in_size * (channels / a);
      candidate.latency = 2 + (kernel / 2) * (in_size + 1) * (channels / a);
      candidate.resources = LineBuffer(in_size, channels, kernel, a);
      candidate.resources[kLut] += 60 + int64_t{12} * a * kernel * kernel;
      layer.candidates.push_back(candidate);
    }
    elements_ = out_size * out_size * channels;
    return Add(std::move(layer), from);
  }

  FoldProblem Take() { return std::move(problem_); }

 private:
  Resources LineBuffer(int64_t in_size, int in_channels, int kernel, int a) const {
    if (kernel == 1) return {};
    return MemoryOf(kInBram, int64_t{a} * model_.activation_bits * (kernel - 1),
                    in_size * (in_channels / a));
  }

  void AddFolds(Layer& layer, const ConvShape& shape, int a, int b) const {
    const int64_t groups_in = shape.in_channels / a;
    const int64_t groups_out = shape.depthwise ? 1 : shape.out_channels / b;
    const int64_t lanes = shape.depthwise ? a : int64_t{a} * b;
    const int64_t taps = int64_t{shape.kernel} * shape.kernel;
    Candidate candidate;
    candidate.in_lanes = a;
    candidate.out_lanes = b;
    candidate.cycles = std::max(shape.out_size * shape.out_size * groups_in * groups_out,
                                shape.in_size * shape.in_size * groups_in);
    candidate.latency =
        10 + (shape.kernel / 2) * (shape.in_size + 1) * groups_in + groups_in * groups_out;
    Resources base = LineBuffer(shape.in_size, shape.in_channels, shape.kernel, a);
    base[kDsp] += CeilDivide(taps * lanes, model_.products_per_dsp);
    base[kLut] += 150 + 9 * taps * lanes + 20 * (int64_t{a} + b);
    for (const MemoryKind kind : {kInBram, kInUram, kInLut}) {
      candidate.resources = base;
      candidate.tag = kind;
      if (model_.weights_on_chip) {
        AddTo(candidate.resources,
              MemoryOf(kind, taps * lanes * model_.weight_bits, groups_in * groups_out));
      }
      layer.candidates.push_back(candidate);
      if (!model_.memory_kinds || !model_.weights_on_chip) break;
    }
  }

  int Add(Layer layer, const std::vector<int>& from) {
    const auto index = static_cast<int>(problem_.layers.size());
    problem_.layers.push_back(std::move(layer));
    for (const int u : from) {
      if (u < 0) continue;
      Edge edge;
      edge.from = u;
      edge.to = index;
      if (from.size() > 1 && model_.fifos) edge.fifo = JoinFifo();
      problem_.edges.push_back(std::move(edge));
    }
    return index;
  }

  Fifo JoinFifo() const {
    Fifo fifo;
    fifo.elements_per_frame = elements_;
    fifo.cost = [bits = model_.activation_bits](int64_t elements, int lanes) {
      const int64_t width = int64_t{lanes} * bits, depth = CeilDivide(elements, lanes);
      std::vector<FifoOption> options;
      for (const MemoryKind kind : {kInBram, kInUram, kInLut}) {
        options.push_back({MemoryOf(kind, width, depth), kind});
        options.back().resources[kLut] += 40;
      }
      return options;
    };
    return fifo;
  }

  const StageModel model_;
  FoldProblem problem_;
  int64_t elements_ = 0;  // per frame, of the stage that is being added
};

// Adds a residual block; returns the number of its addition.
int ResNetBlock(Builder& builder, const std::string& name, int from, int64_t in_size,
                int64_t out_size, int in_channels, int width, int out_channels, bool bottleneck) {
  int main = from;
  if (bottleneck) {
    main = builder.Conv(name + ".conv1", main, {in_size, in_size, in_channels, width, 1});
    main = builder.Conv(name + ".conv2", main, {in_size, out_size, width, width, 3});
    main = builder.Conv(name + ".conv3", main, {out_size, out_size, width, out_channels, 1});
  } else {
    main = builder.Conv(name + ".conv1", main, {in_size, out_size, in_channels, width, 3});
    main = builder.Conv(name + ".conv2", main, {out_size, out_size, width, out_channels, 3});
  }
  int skip = from;
  if (in_channels != out_channels || in_size != out_size) {
    skip = builder.Conv(name + ".skip", from, {in_size, out_size, in_channels, out_channels, 1});
  }
  return builder.Stage(name + ".add", {main, skip}, out_size, out_size, out_channels, 1);
}

}  // namespace

Resources Zcu104() { return {1728, 624, 96, 230400}; }
Resources U250() { return {12288, 5376, 1280, 1728000}; }

FoldProblem ResNet(int depth, const StageModel& model, const Resources& limits) {
  const bool bottleneck = depth == 50;
  static constexpr int kBlocks18[] = {2, 2, 2, 2}, kBlocks50[] = {3, 4, 6, 3};
  const int* blocks = bottleneck ? kBlocks50 : kBlocks18;
  Builder builder(model, limits);
  int at = builder.Conv("conv1", -1, {224, 112, 3, 64, 7});
  at = builder.Stage("pool1", {at}, 112, 56, 64, 3);
  int channels = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    const int out_channels = bottleneck ? 4 * width : width;
    const int64_t out_size = 56 >> stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int64_t in_size = stage > 0 && block == 0 ? 2 * out_size : out_size;
      at = ResNetBlock(builder, fmt::format("layer{}.{}", stage + 1, block), at, in_size, out_size,
                       channels, width, out_channels, bottleneck);
      channels = out_channels;
    }
  }
  return builder.Take();
}

FoldProblem MobileNetV2(const StageModel& model, const Resources& limits) {
  struct Stage {
    int expansion, channels, blocks, stride;
  };
  static constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                      {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Builder builder(model, limits);
  int at = builder.Conv("stem", -1, {224, 112, 3, 32, 3});
  int channels = 32;
  int64_t size = 112;
  for (size_t s = 0; s < std::size(kStages); ++s) {
    for (int block = 0; block < kStages[s].blocks; ++block) {
      const int stride = block == 0 ? kStages[s].stride : 1;
      const int hidden = channels * kStages[s].expansion, out = kStages[s].channels;
      const int64_t out_size = size / stride;
      const std::string name = fmt::format("stage{}.{}", s + 1, block);
      int main = at;
      if (hidden != channels) {
        main = builder.Conv(name + ".expand", main, {size, size, channels, hidden, 1});
      }
      main = builder.Conv(name + ".depthwise", main, {size, out_size, hidden, hidden, 3, true});
      main = builder.Conv(name + ".project", main, {out_size, out_size, hidden, out, 1});
      if (stride == 1 && channels == out) {
        main = builder.Stage(name + ".add", {main, at}, out_size, out_size, out, 1);
      }
      at = main;
      channels = out;
      size = out_size;
    }
  }
  builder.Conv("head", at, {size, size, channels, 1280, 1});
  return builder.Take();
}

FoldProblem VdsrOnFpga(int layers, int64_t size, const StageModel& model, const Resources& limits) {
  Builder builder(model, limits);
  int at = -1;
  for (const PlainLayer& layer : VdsrLayers(layers, size)) {
    at = builder.Conv(layer.name, at,
                      {size, size, layer.in_channels, layer.out_channels, layer.kernel});
  }
  return builder.Take();
}

}  // namespace kiln::dataflow
