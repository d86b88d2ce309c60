// Grows pipelines from a source by random stages.
#include "tests/targets/dataflow/random_pipeline.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

class Growth {
 public:
  Growth(const std::function<uint64_t(uint64_t)>& below, const RandomPipelineOptions& options)
      : below_(below), options_(options) {}

  Pipeline Grow() {
    const MapShape map = {Between(1, 9), Between(1, 9), Between(1, 8)};
    const CodeType type = RandomType();
    int value = builder_.Source("in", map, type, Divisor(map.channels));
    const int64_t stages = Between(1, options_.most_stages);
    for (int64_t i = 0; i < stages && At(value).type.bits <= 16; ++i) value = Step(value);
    if (At(value).type.bits > 16 && below_(2) == 0)
      value = builder_.WithLanes(value, Divisor(At(value).map.channels), "c");
    builder_.Sink(value, "out");
    Pipeline pipeline = builder_.Take();
    for (Channel& channel : pipeline.channels) {
      if (pipeline.HoldsWeights(channel)) continue;
      channel.depth = 2 * channel.words() + 64;
      channel.memory = channel.depth > 64 ? MemoryKind::kBlock : MemoryKind::kLut;
    }
    return pipeline;
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below_(static_cast<uint64_t>(high - low) + 1));
  }
  int64_t Divisor(int64_t number) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= number; ++d) {
      if (number % d == 0) divisors.push_back(d);
    }
    return divisors[below_(divisors.size())];
  }
  // Returns a type whose codes have at most `more` bits above the options' code_bits.
  CodeType RandomType(int more = 0) {
    const int most = std::min(16, options_.code_bits + more);
    const auto bits = static_cast<int>(Between(1, most));
    return {bits, below_(2) == 0};
  }
  const Channel& At(int channel) const { return builder_.channel(channel); }

  int Step(int value) {
    if (below_(6) == 0) value = builder_.WithLanes(value, Divisor(At(value).map.channels), "c");
    switch (below_(13)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Convolution(value);
      case 4:
      case 5:
        return Lanes(value, StageKind::kDepthwise);
      case 6:
        return Lanes(value, StageKind::kMaxPool);
      case 7:
        return Pad(value);
      case 8:
        return Table(value);
      case 9:
        return Affine(value);
      case 10:
        return Rearrange(value);
      case 11:
        return Join(value);
      default:
        return below_(3) == 0 ? GlobalSum(value) : Convolution(value);
    }
  }

  // A window that its limits allow on a map; a pointwise one if nothing else is found.
  Window RandomWindow(const Channel& in) {
    const MapShape& map = in.map;
    for (int trial = 0; trial < 20; ++trial) {
      Window w;
      w.kernel_y = Between(1, 4);
      w.kernel_x = Between(1, 4);
      w.stride_y = Between(1, 3);
      w.stride_x = Between(1, 3);
      w.dilation_y = Between(1, 2);
      w.dilation_x = Between(1, 2);
      w.pad_top = Between(0, w.rows() - 1);
      w.pad_left = Between(0, w.columns() - 1);
      w.pad_value = Between(in.type.low(), in.type.high());
      w.extra_rows = Between(0, 2);
      w.row_memory = below_(2) == 0 ? MemoryKind::kBlock : MemoryKind::kLut;
      w.out_height = Between(1, (map.height - 1) / w.stride_y + 1);
      w.out_width = Between(1, (map.width - 1) / w.stride_x + 1);
      const int64_t last = (w.out_width - 1) * w.stride_x - w.pad_left + w.columns() - 1;
      if (last <= 2 * map.width - 1) return w;
    }
    Window w;
    w.out_height = map.height;
    w.out_width = map.width;
    return w;
  }

  // Sets the bits of a stage's sums and a random requantisation, and returns the type of its codes.
  CodeType Requantised(const Channel& in, const MapShape& out, Stage* stage) {
    Pipeline alone;
    alone.channels = {in, in};
    alone.channels[1].map = out;
    stage->inputs = {0};
    stage->outputs = {1};
    const SumRange range = RangeOfSums(alone, *stage);
    stage->inputs.clear();
    stage->outputs.clear();
    stage->sum_bits = std::max(2, SignedBits(range.low, range.high));
    Requantise& r = stage->requantise;
    if ((stage->sum_bits <= 16 || options_.wide_sums) && below_(4) == 0)
      return {stage->sum_bits, true};
    const CodeType type = RandomType();
    if (below_(2) == 0) {
      r.way = Requantise::Way::kThresholds;
      r.threshold_bits = static_cast<int>(Between(1, std::min(options_.threshold_bits, type.bits)));
      r.low = Between(type.low(), type.high() + 1 - (int64_t{1} << r.threshold_bits));
      for (int64_t c = 0; c < out.channels; ++c) {
        std::vector<int64_t> thresholds((size_t{1} << r.threshold_bits) - 1);
        for (int64_t& t : thresholds) t = Between(range.low, range.high);
        std::ranges::sort(thresholds);
        r.thresholds.insert(r.thresholds.end(), thresholds.begin(), thresholds.end());
      }
      return type;
    }
    r.way = Requantise::Way::kMultiply;
    r.shift = static_cast<int>(
        std::clamp<int64_t>(stage->sum_bits + kMultiplierBits - type.bits + Between(-2, 2), 0, 47));
    const int64_t half = r.shift == 0 ? 0 : int64_t{1} << (r.shift - 1);
    for (int64_t c = 0; c < out.channels; ++c) {
      r.multipliers.push_back(Between(0, (int64_t{1} << kMultiplierBits) - 1));
      r.addends.push_back(half + Between(-half, half));
    }
    r.low = Between(type.low(), type.high());
    r.high = Between(r.low, type.high());
    return type;
  }

  void RandomWeights(int64_t count, Stage* stage) {
    stage->weight_bits = static_cast<int>(Between(1, options_.weight_bits));
    stage->weight_memory = below_(2) == 0 ? MemoryKind::kBlock : MemoryKind::kLut;
    const CodeType type = {stage->weight_bits, true};
    for (int64_t i = 0; i < count; ++i) {
      stage->weights.push_back(static_cast<int32_t>(
          stage->weight_bits == 1 ? 2 * Between(0, 1) - 1 : Between(type.low(), type.high())));
    }
  }

  int Convolution(int value) {
    if (below_(4) == 0) value = Whole(value);
    Channel in = At(value);
    Stage stage;
    stage.kind = StageKind::kConvolution;
    stage.name = "conv";
    // Sometimes the whole map becomes the channels of one pixel.
    stage.map = in.map;
    if (below_(6) == 0 && in.map.elements() <= options_.merged_map)
      stage.map = {1, 1, in.map.elements()};
    Channel seen = in;
    seen.map = stage.map;
    stage.window = RandomWindow(seen);
    const int64_t ci = stage.map.channels;
    stage.groups = below_(3) == 0 ? Divisor(ci / in.lanes) : 1;
    const int64_t group_out = Between(1, 6);
    stage.elements = Divisor(group_out);
    MapShape out = {stage.window.out_height, stage.window.out_width, group_out * stage.groups};
    RandomWeights(out.channels * stage.window.taps() * ci / stage.groups, &stage);
    for (const int64_t pack : {4, 2}) {
      const int most = std::max(in.type.bits, stage.weight_bits);
      if (stage.weight_bits > 1 && stage.elements % pack == 0 && most <= (pack == 4 ? 4 : 8))
        stage.pack = pack;
    }
    const CodeType type = Requantised(in, out, &stage);
    int64_t lanes = Divisor(stage.elements);
    while (stage.elements / lanes > ci / stage.groups / in.lanes)
      lanes = Ceil(lanes + 1, stage.elements);
    if (options_.streams && below_(4) == 0) {
      const WeightPort port = {int64_t{8} << below_(3), Between(1, 30)};
      return Crop(builder_.AddStreaming(std::move(stage), value, out, type, lanes, port));
    }
    return Crop(builder_.Add(std::move(stage), {value}, out, type, lanes));
  }
  // Drops the last words of each pixel, sometimes.
  int Crop(int value) {
    const Channel in = At(value);
    const int64_t words = in.map.channels / in.lanes;
    if (!options_.streams || in.map.channels % in.lanes != 0 || words < 2 || below_(4) != 0)
      return value;
    Stage stage;
    stage.kind = StageKind::kCrop;
    stage.name = "crop";
    MapShape out = in.map;
    out.channels = in.lanes * Between(1, words - 1);
    return builder_.Add(std::move(stage), {value}, out, in.type, in.lanes);
  }
  // Returns the least divisor of `number` from `least` on.
  static int64_t Ceil(int64_t least, int64_t number) {
    while (number % least != 0) ++least;
    return least;
  }
  // Makes words hold whole pixels' divisors again, after maps that were read as one pixel.
  int Whole(int value) { return builder_.WithLanes(value, Divisor(At(value).map.channels), "w"); }

  int Lanes(int value, StageKind kind) {
    const Channel in = At(value);
    Stage stage;
    stage.kind = kind;
    stage.name = kind == StageKind::kDepthwise ? "depthwise" : "pool";
    stage.map = in.map;
    stage.window = RandomWindow(in);
    const MapShape out = {stage.window.out_height, stage.window.out_width, in.map.channels};
    CodeType type = in.type;
    if (kind == StageKind::kDepthwise) {
      RandomWeights(out.channels * stage.window.taps(), &stage);
      type = Requantised(in, out, &stage);
    } else {
      stage.window.pad_value = in.type.low();
    }
    return builder_.Add(std::move(stage), {value}, out, type, in.lanes);
  }

  int GlobalSum(int value) {
    const Channel in = At(value);
    Stage stage;
    stage.kind = StageKind::kGlobalSum;
    stage.name = "sum";
    const MapShape out = {1, 1, in.map.channels};
    const CodeType type = Requantised(in, out, &stage);
    return builder_.Add(std::move(stage), {value}, out, type, in.lanes);
  }

  int Pad(int value) {
    const Channel in = At(value);
    Stage stage;
    stage.kind = StageKind::kPad;
    stage.name = "pad";
    stage.pad_top = Between(0, 2);
    stage.pad_left = Between(0, 2);
    stage.pad_front = in.lanes * Between(0, 1);
    stage.pad_value = Between(in.type.low(), in.type.high());
    const MapShape out = {in.map.height + stage.pad_top + Between(0, 2),
                          in.map.width + stage.pad_left + Between(0, 2),
                          in.map.channels + stage.pad_front + in.lanes * Between(0, 1)};
    if (out.elements() > options_.most_elements) return value;
    return builder_.Add(std::move(stage), {value}, out, in.type, in.lanes);
  }

  int Table(int value) {
    const Channel in = At(value);
    if (in.type.bits > 10) return value;
    Stage stage;
    stage.kind = StageKind::kTable;
    stage.name = "table";
    const CodeType type = RandomType();
    for (int64_t i = 0; i < int64_t{1} << in.type.bits; ++i)
      stage.table.push_back(static_cast<int32_t>(Between(type.low(), type.high())));
    return builder_.Add(std::move(stage), {value}, in.map, type, in.lanes);
  }

  void RandomAffine(Stage* stage, const CodeType& type) {
    stage->kind = StageKind::kAffine;
    stage->name = "affine";
    stage->shift = static_cast<int>(Between(0, 20));
    for (int64_t& factor : stage->factors) factor = Between(-131071, 131071) >> Between(0, 12);
    stage->addend = Between(-1000000, 1000000);
    stage->low = Between(type.low(), type.high());
    stage->high = Between(stage->low, type.high());
  }
  int Affine(int value) {
    const Channel in = At(value);
    Stage stage;
    const CodeType type = RandomType(2);
    RandomAffine(&stage, type);
    return builder_.Add(std::move(stage), {value}, in.map, type, in.lanes);
  }

  int Rearrange(int value) {
    const Channel in = At(value);
    Stage stage;
    stage.kind = StageKind::kRearrange;
    stage.name = "rearrange";
    stage.factor_y = Between(1, 3);
    stage.factor_x = Between(1, 3);
    const int64_t blocks = stage.factor_y * stage.factor_x;
    stage.depth_to_space = in.map.channels % (blocks * in.lanes) == 0 && below_(2) == 0;
    const MapShape out = {in.map.height * stage.factor_y, in.map.width * stage.factor_x,
                          stage.depth_to_space ? in.map.channels / blocks : in.map.channels};
    if (out.elements() > options_.most_elements) return value;
    return builder_.Add(std::move(stage), {value}, out, in.type, in.lanes);
  }

  // A fork whose branches join again: by a sum, or by their channels.
  int Join(int value) {
    const std::vector<int> branches = builder_.Fork(value, Between(2, 3), "split");
    std::vector<int> ends;
    for (const int branch : branches) ends.push_back(below_(2) == 0 ? Table(branch) : branch);
    const Channel first = At(ends[0]);
    if (ends.size() == 2 && below_(2) == 0) {
      Stage stage;
      const CodeType type = RandomType(2);
      RandomAffine(&stage, type);
      return builder_.Add(std::move(stage), ends, first.map, type, first.lanes);
    }
    for (int& end : ends) {
      if (At(end).type == first.type) continue;
      Stage stage;
      RandomAffine(&stage, first.type);
      end = builder_.Add(std::move(stage), {end}, first.map, first.type, first.lanes);
    }
    Stage stage;
    stage.kind = StageKind::kConcat;
    stage.name = "concat";
    MapShape out = first.map;
    out.channels *= std::ssize(ends);
    return builder_.Add(std::move(stage), ends, out, first.type, first.lanes);
  }

  const std::function<uint64_t(uint64_t)>& below_;
  const RandomPipelineOptions options_;
  PipelineBuilder builder_;
};

}  // namespace

Pipeline RandomPipeline(uint64_t seed, const RandomPipelineOptions& options) {
  Random random(seed);
  Pipeline pipeline = MakePipeline([&](uint64_t bound) { return random.Below(bound); }, options);
  KILN_CHECK(CheckPipeline(pipeline).ok());
  return pipeline;
}

Pipeline MakePipeline(const std::function<uint64_t(uint64_t bound)>& below,
                      const RandomPipelineOptions& options) {
  return Growth(below, options).Grow();
}

std::vector<std::vector<int64_t>> RandomImage(const Pipeline& pipeline, uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int64_t>> inputs;
  for (const int source : pipeline.Find(StageKind::kSource)) {
    const Channel& channel = pipeline.output(pipeline.stages[static_cast<size_t>(source)]);
    std::vector<int64_t> codes(static_cast<size_t>(channel.map.elements()));
    for (int64_t& code : codes) code = random.Between(channel.type.low(), channel.type.high());
    inputs.push_back(std::move(codes));
  }
  return inputs;
}

Pipeline SideBySide(std::span<const Pipeline> pipelines) {
  Pipeline all;
  int64_t weights_end = 0;  // of the memory of streamed weights
  for (size_t i = 0; i < pipelines.size(); ++i) {
    const auto stages = static_cast<int>(all.stages.size()),
               channels = static_cast<int>(all.channels.size());
    for (Stage stage : pipelines[i].stages) {
      stage.name = fmt::format("p{}_{}", i, stage.name);
      if (stage.kind == StageKind::kWeightStream) {
        const Channel& words = pipelines[i].output(stage);
        stage.base_address = weights_end;
        weights_end += RoundUp(words.map.width * BytesOfWeightWord(words), 4096);
      }
      for (auto* list : {&stage.inputs, &stage.outputs}) {
        for (int& channel : *list) channel += channels;
      }
      all.stages.push_back(std::move(stage));
    }
    for (Channel channel : pipelines[i].channels) {
      channel.from += stages;
      channel.to += stages;
      all.channels.push_back(channel);
    }
  }
  return all;
}

}  // namespace kiln::dataflow
