// Implements the stages on whole maps.

#include "kiln/targets/dataflow/simulate/functional/functional.h"

#include <algorithm>

#include "kiln/support/cpu.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

size_t At(int64_t index) { return static_cast<size_t>(index); }

// The code of a sum of channel `c`.
int64_t CodeOfSum(const Requantise& r, int64_t sum, int64_t c) {
  switch (r.way) {
    case Requantise::Way::kNone:
      return sum;
    case Requantise::Way::kMultiply: {
      // 48 bits times 17 bits do not fit in 64.
      const __int128 scaled =
          (static_cast<__int128>(sum) * r.multipliers[At(c)] + r.addends[At(c)]) >> r.shift;
      return static_cast<int64_t>(std::clamp<__int128>(scaled, r.low, r.high));
    }
    case Requantise::Way::kThresholds: {
      const int64_t count = (int64_t{1} << r.threshold_bits) - 1;
      const auto* first = &r.thresholds[At(c * count)];
      return r.low + (std::upper_bound(first, first + count, sum) - first);
    }
  }
  return 0;
}

MapCodes Requantised(const Stage& stage, const std::vector<int64_t>& sums, int64_t channels) {
  MapCodes codes(sums.size());
  for (size_t i = 0; i < sums.size(); ++i)
    codes[i] = CodeOfSum(stage.requantise, sums[i], static_cast<int64_t>(i) % channels);
  return codes;
}

// Calls visit(output pixel, tap, input pixel) for all window positions inside of the map.
template <typename Visit>
void ForEachTap(const Window& w, const MapShape& map, const Visit& visit) {
  for (int64_t oy = 0; oy < w.out_height; ++oy) {
    for (int64_t ox = 0; ox < w.out_width; ++ox) {
      for (int64_t ky = 0; ky < w.kernel_y; ++ky) {
        const int64_t y = oy * w.stride_y - w.pad_top + ky * w.dilation_y;
        for (int64_t kx = 0; kx < w.kernel_x; ++kx) {
          const int64_t x = ox * w.stride_x - w.pad_left + kx * w.dilation_x;
          const bool inside = y >= 0 && y < map.height && x >= 0 && x < map.width;
          visit(oy * w.out_width + ox, ky * w.kernel_x + kx, inside ? y * map.width + x : -1);
        }
      }
    }
  }
}

// Sums of a convolution, or of a depthwise convolution, whose weights are
// [out channel][tap][channel of the group] with one group per channel.
std::vector<int64_t> PlainSums(const Stage& stage, const MapShape& in_map, const MapShape& out_map,
                               int64_t groups, const MapCodes& in) {
  const int64_t ci = in_map.channels, co = out_map.channels, taps = stage.window.taps();
  const int64_t group_in = ci / groups, group_out = co / groups;
  std::vector<int64_t> sums(At(out_map.elements()), 0);
  ForEachTap(stage.window, in_map, [&](int64_t out_pixel, int64_t tap, int64_t pixel) {
    for (int64_t c = 0; c < co; ++c) {
      const int32_t* weights = &stage.weights[At((c * taps + tap) * group_in)];
      int64_t sum = 0;
      for (int64_t i = 0; i < group_in; ++i) {
        const int64_t code =
            pixel < 0 ? stage.window.pad_value : in[At(pixel * ci + c / group_out * group_in + i)];
        sum += code * weights[i];
      }
      sums[At(out_pixel * co + c)] += sum;
    }
  });
  return sums;
}

MapCodes MaxPool(const Stage& stage, const MapShape& in_map, const MapShape& out_map,
                 const MapCodes& in) {
  const int64_t c = in_map.channels;
  MapCodes out(At(out_map.elements()), stage.window.pad_value);
  ForEachTap(stage.window, in_map, [&](int64_t out_pixel, int64_t, int64_t pixel) {
    for (int64_t i = 0; i < c && pixel >= 0; ++i) {
      int64_t& most = out[At(out_pixel * c + i)];
      most = std::max(most, in[At(pixel * c + i)]);
    }
  });
  return out;
}

std::vector<int64_t> GlobalSums(const MapShape& map, const MapCodes& in) {
  std::vector<int64_t> sums(At(map.channels), 0);
  for (size_t i = 0; i < in.size(); ++i) sums[i % sums.size()] += in[i];
  return sums;
}

MapCodes Pad(const Stage& stage, const MapShape& in_map, const MapShape& out_map,
             const MapCodes& in) {
  MapCodes out(At(out_map.elements()), stage.pad_value);
  for (int64_t y = 0; y < in_map.height; ++y) {
    for (int64_t x = 0; x < in_map.width; ++x) {
      const int64_t pixel = (y + stage.pad_top) * out_map.width + x + stage.pad_left;
      std::copy_n(&in[At((y * in_map.width + x) * in_map.channels)], in_map.channels,
                  &out[At(pixel * out_map.channels + stage.pad_front)]);
    }
  }
  return out;
}

MapCodes Crop(const MapShape& in_map, const MapShape& out_map, const MapCodes& in) {
  MapCodes out(At(out_map.elements()));
  for (int64_t pixel = 0; pixel < in_map.pixels(); ++pixel) {
    std::copy_n(&in[At(pixel * in_map.channels)], out_map.channels,
                &out[At(pixel * out_map.channels)]);
  }
  return out;
}

MapCodes Rearrange(const Stage& stage, const MapShape& in_map, const MapShape& out_map,
                   const MapCodes& in) {
  MapCodes out(At(out_map.elements()));
  const int64_t fy = stage.factor_y, fx = stage.factor_x, c = out_map.channels;
  for (int64_t y = 0; y < out_map.height; ++y) {
    for (int64_t x = 0; x < out_map.width; ++x) {
      const int64_t block = stage.depth_to_space ? (y % fy * fx + x % fx) * c : 0;
      const int64_t from = (y / fy * in_map.width + x / fx) * in_map.channels + block;
      std::copy_n(&in[At(from)], c, &out[At((y * out_map.width + x) * c)]);
    }
  }
  return out;
}

MapCodes Concat(const std::vector<const MapCodes*>& inputs, int64_t pixels) {
  MapCodes out;
  for (int64_t p = 0; p < pixels; ++p) {
    for (const MapCodes* in : inputs) {
      const int64_t channels = std::ssize(*in) / pixels;
      out.insert(out.end(), in->begin() + p * channels, in->begin() + (p + 1) * channels);
    }
  }
  return out;
}

MapCodes Affine(const Stage& stage, const std::vector<const MapCodes*>& inputs) {
  MapCodes out(inputs[0]->size());
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t sum = stage.addend;
    for (size_t k = 0; k < inputs.size(); ++k) sum += (*inputs[k])[i] * stage.factors[k];
    out[i] = std::clamp(sum >> stage.shift, stage.low, stage.high);
  }
  return out;
}

MapCodes Table(const Stage& stage, int bits, const MapCodes& in) {
  MapCodes out(in.size());
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  for (size_t i = 0; i < in.size(); ++i) out[i] = stage.table[static_cast<uint64_t>(in[i]) & mask];
  return out;
}

}  // namespace

FunctionalPipeline::FunctionalPipeline(const Pipeline& pipeline) : pipeline_(pipeline) {
  for (const Stage& stage : pipeline.stages) packed_.push_back(Pack(pipeline, stage));
}

std::optional<FunctionalPipeline::Packed> FunctionalPipeline::Pack(const Pipeline& pipeline,
                                                                   const Stage& stage) {
  if (stage.kind != StageKind::kConvolution) return std::nullopt;
  const Channel &in = pipeline.input(stage), &out = pipeline.output(stage);
  const SumRange range = RangeOfSums(pipeline, stage);
  if (in.type.bits > 8 || stage.weight_bits > 8 || SignedBits(range.low, range.high) > 30)
    return std::nullopt;
  Packed packed;
  packed.offset = in.type.is_signed || in.type.bits < 8 ? 0 : 128;
  const int64_t ci = stage.map.channels / stage.groups, co = out.map.channels / stage.groups,
                taps = stage.window.taps();
  for (int64_t g = 0; g < stage.groups; ++g) {
    std::vector<int8_t> weights(At(taps * ci * co));
    for (int64_t c = 0; c < co; ++c) {
      int64_t sum = 0;
      for (int64_t i = 0; i < taps * ci; ++i) {
        const int32_t weight = stage.weights[At((g * co + c) * taps * ci + i)];
        weights[At(i * co + c)] = static_cast<int8_t>(weight);
        sum += weight;
      }
      packed.correction.push_back(packed.offset * sum);
    }
    packed.groups.emplace_back(GetCpuLevel(), taps, ci, co, weights.data());
  }
  return packed;
}

std::vector<int64_t> FunctionalPipeline::SumsOf(size_t index, const MapCodes& in) const {
  const Stage& stage = pipeline_.stages[index];
  const MapShape &map = stage.map, &out_map = pipeline_.output(stage).map;
  if (!packed_[index].has_value()) {
    const int64_t groups = stage.kind == StageKind::kDepthwise ? map.channels : stage.groups;
    return PlainSums(stage, map, out_map, groups, in);
  }
  const Packed& packed = *packed_[index];
  const Window& w = stage.window;
  // The map with its padding, in the layout of the kernels.
  const int64_t ci = map.channels, group_in = ci / stage.groups;
  const int64_t height = (w.out_height - 1) * w.stride_y + w.rows(),
                width = (w.out_width - 1) * w.stride_x + w.columns();
  const CodeLayout layout = packed.groups[0].layout();
  const auto bytes = At(BytesOf(layout));
  std::vector<uint8_t> image(At(height * width * ci + kImageSlack) * bytes, 0);
  FillCodes(layout, static_cast<int8_t>(w.pad_value - packed.offset), height * width * ci,
            image.data());
  std::vector<int8_t> row(At(map.width * ci));
  for (int64_t y = 0; y < std::min(map.height, height - w.pad_top); ++y) {
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<int8_t>(in[At(y * map.width * ci) + i] - packed.offset);
    const int64_t columns = std::min(map.width, width - w.pad_left);
    StoreCodes(layout, row.data(), columns * ci,
               &image[At(((y + w.pad_top) * width + w.pad_left) * ci) * bytes]);
  }
  std::vector<int64_t> offsets;
  for (int64_t ky = 0; ky < w.kernel_y; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_x; ++kx)
      offsets.push_back((ky * w.dilation_y * width + kx * w.dilation_x) * ci);
  }
  std::vector<int64_t> sums(At(out_map.elements()));
  const int64_t co = out_map.channels, group_out = co / stage.groups;
  std::vector<int64_t> pixels(At(w.out_width));
  for (size_t g = 0; g < packed.groups.size(); ++g) {
    const PackedWeights& weights = packed.groups[g];
    std::vector<int32_t> products(At(w.out_width * weights.padded_columns()));
    for (int64_t oy = 0; oy < w.out_height; ++oy) {
      for (int64_t ox = 0; ox < w.out_width; ++ox)
        pixels[At(ox)] =
            (oy * w.stride_y * width + ox * w.stride_x) * ci + static_cast<int64_t>(g) * group_in;
      weights.Multiply(image.data(), pixels.data(), w.out_width, offsets.data(), products.data(),
                       weights.padded_columns());
      for (int64_t ox = 0; ox < w.out_width; ++ox) {
        for (int64_t c = 0; c < group_out; ++c) {
          const int64_t channel = static_cast<int64_t>(g) * group_out + c;
          sums[At((oy * w.out_width + ox) * co + channel)] =
              products[At(ox * weights.padded_columns() + c)] + packed.correction[At(channel)];
        }
      }
    }
  }
  return sums;
}

std::vector<MapCodes> FunctionalPipeline::Run(std::span<const MapCodes> inputs) const {
  std::vector<MapCodes> codes(pipeline_.channels.size());
  std::vector<MapCodes> results;
  size_t next_input = 0;
  for (size_t i = 0; i < pipeline_.stages.size(); ++i) {
    const Stage& stage = pipeline_.stages[i];
    std::vector<const MapCodes*> in;
    for (const int c : stage.inputs) in.push_back(&codes[At(c)]);
    const auto map = [&] { return pipeline_.input(stage).map; };
    const auto out_map = [&] { return pipeline_.output(stage).map; };
    MapCodes out;
    switch (stage.kind) {
      case StageKind::kSource:
        out = inputs[next_input++];
        break;
      case StageKind::kWeightStream:  // the convolution has its weights
        break;
      case StageKind::kSink:
        results.push_back(*in[0]);
        break;
      case StageKind::kFork:
      case StageKind::kWiden:
      case StageKind::kNarrow:
        for (const int c : stage.outputs) codes[At(c)] = *in[0];
        break;
      case StageKind::kConcat:
        out = Concat(in, out_map().pixels());
        break;
      case StageKind::kPad:
        out = Pad(stage, map(), out_map(), *in[0]);
        break;
      case StageKind::kCrop:
        out = Crop(map(), out_map(), *in[0]);
        break;
      case StageKind::kTable:
        out = Table(stage, pipeline_.input(stage).type.bits, *in[0]);
        break;
      case StageKind::kAffine:
        out = Affine(stage, in);
        break;
      case StageKind::kRearrange:
        out = Rearrange(stage, map(), out_map(), *in[0]);
        break;
      case StageKind::kConvolution:
      case StageKind::kDepthwise:
        out = Requantised(stage, SumsOf(i, *in[0]), out_map().channels);
        break;
      case StageKind::kMaxPool:
        out = MaxPool(stage, stage.map, out_map(), *in[0]);
        break;
      case StageKind::kGlobalSum:
        out = Requantised(stage, GlobalSums(map(), *in[0]), out_map().channels);
        break;
    }
    if (stage.outputs.size() == 1 && !out.empty()) codes[At(stage.outputs[0])] = std::move(out);
    for (const int c : stage.inputs) MapCodes().swap(codes[At(c)]);
  }
  return results;
}

}  // namespace kiln::dataflow
