// Computes the streams of all stages.

#include "kiln/targets/dataflow/simulate/cycle/data.h"

#include <algorithm>
#include <utility>

#include "kiln/targets/dataflow/simulate/cycle/window_data.h"

namespace kiln::dataflow {
namespace {

// The requantisation unit: the code of a sum of output channel `channel`.
int64_t RequantisedCode(const Requantise& r, int64_t sum, size_t channel) {
  if (r.way == Requantise::Way::kThresholds) {
    // n steps, each of which halves the thresholds that are left.
    const int64_t* const thresholds =
        &r.thresholds[channel * ((size_t{1} << r.threshold_bits) - 1)];
    int64_t found = 0;
    for (int bit = r.threshold_bits - 1; bit >= 0; --bit) {
      const int64_t middle = found + (int64_t{1} << bit);
      if (sum >= thresholds[middle - 1]) found = middle;
    }
    return r.low + found;
  }
  if (r.way == Requantise::Way::kNone) return sum;
  // Two partial products, of the low 9 and the high 8 bits of the multiplier.
  const int64_t multiplier = r.multipliers[channel];
  const __int128 low = static_cast<__int128>(sum) * (multiplier & 511),
                 high = static_cast<__int128>(sum) * (multiplier >> 9);
  const __int128 scaled = (low + high * 512 + r.addends[channel]) >> r.shift;
  if (scaled < r.low) return r.low;
  return scaled > r.high ? r.high : static_cast<int64_t>(scaled);
}

// Each pass over the words of a group computes `elements` output channels; only the first pass of a
// group inserts columns into the window.
CodeStream ConvolutionStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const WindowLoops loops = LoopsOf(pipeline, stage);
  const int64_t lanes = pipeline.input(stage).lanes, taps = stage.window.taps();
  const int64_t group_channels = loops.words_per_group * lanes;
  CodeStream out;
  std::vector<int64_t> sums(static_cast<size_t>(stage.elements));
  WindowData window(pipeline, stage, in);
  while (window.NextPixel()) {
    for (int64_t g = 0; g < loops.groups; ++g) {
      for (int64_t og = 0; og < loops.passes; ++og) {
        const int64_t first = (g * loops.passes + og) * stage.elements;  // output channel
        std::ranges::fill(sums, 0);
        for (int64_t ig = 0; ig < loops.words_per_group; ++ig) {
          const auto& codes = window.Word(g * loops.words_per_group + ig, og == 0);
          for (int64_t e = 0; e < stage.elements; ++e) {
            const int32_t* const weights = &stage.weights[static_cast<size_t>(
                (first + e) * taps * group_channels + ig * lanes)];
            int64_t sum = 0;
            for (int64_t t = 0; t < taps; ++t) {
              for (int64_t l = 0; l < lanes; ++l)
                sum += codes[static_cast<size_t>(t * lanes + l)] * weights[t * group_channels + l];
            }
            sums[static_cast<size_t>(e)] += sum;
          }
        }
        for (int64_t e = 0; e < stage.elements; ++e) {
          out.push_back(RequantisedCode(stage.requantise, sums[static_cast<size_t>(e)],
                                        static_cast<size_t>(first + e)));
        }
      }
    }
  }
  return out;
}

// Depthwise convolution and maximum pool: every word by itself.
template <typename Result>
CodeStream LaneStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in,
                      const Result& result) {
  const int64_t lanes = pipeline.input(stage).lanes, words = stage.map.channels / lanes;
  CodeStream out;
  WindowData window(pipeline, stage, in);
  while (window.NextPixel()) {
    for (int64_t word = 0; word < words; ++word) {
      const auto& codes = window.Word(word, true);
      for (int64_t lane = 0; lane < lanes; ++lane)
        out.push_back(result(codes, word * lanes + lane, static_cast<size_t>(lane)));
    }
  }
  return out;
}

CodeStream DepthwiseStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const auto lanes = static_cast<size_t>(pipeline.input(stage).lanes);
  const auto taps = static_cast<size_t>(stage.window.taps());
  return LaneStream(pipeline, stage, in, [&](const auto& codes, int64_t channel, size_t lane) {
    int64_t sum = 0;
    for (size_t t = 0; t < taps; ++t)
      sum += codes[t * lanes + lane] * stage.weights[static_cast<size_t>(channel) * taps + t];
    return RequantisedCode(stage.requantise, sum, static_cast<size_t>(channel));
  });
}

CodeStream MaxPoolStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const auto lanes = static_cast<size_t>(pipeline.input(stage).lanes);
  return LaneStream(pipeline, stage, in, [&](const auto& codes, int64_t, size_t lane) {
    int64_t most = codes[lane];
    for (size_t i = lane; i < codes.size(); i += lanes) most = std::max(most, codes[i]);
    return most;
  });
}

CodeStream GlobalSumStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const auto channels = static_cast<size_t>(pipeline.input(stage).map.channels);
  CodeStream sums(in.begin(), in.begin() + static_cast<int64_t>(channels));
  for (size_t i = channels; i < in.size(); ++i) sums[i % channels] += in[i];
  for (size_t c = 0; c < channels; ++c) sums[c] = RequantisedCode(stage.requantise, sums[c], c);
  return sums;
}

// Keeps the codes of the first words of each pixel.
CodeStream CropStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const int64_t channels = pipeline.input(stage).map.channels,
                kept = pipeline.output(stage).map.channels;
  CodeStream out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (static_cast<int64_t>(i) % channels < kept) out.push_back(in[i]);
  }
  return out;
}

CodeStream PadStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const MapShape &map = pipeline.input(stage).map, &padded = pipeline.output(stage).map;
  CodeStream out;
  auto next = in.begin();
  for (int64_t y = -stage.pad_top; y < padded.height - stage.pad_top; ++y) {
    for (int64_t x = -stage.pad_left; x < padded.width - stage.pad_left; ++x) {
      if (y >= 0 && y < map.height && x >= 0 && x < map.width) {
        out.insert(out.end(), static_cast<size_t>(stage.pad_front), stage.pad_value);
        out.insert(out.end(), next, next + map.channels);
        next += map.channels;
        out.insert(out.end(), static_cast<size_t>(padded.channels - map.channels - stage.pad_front),
                   stage.pad_value);
      } else {
        out.insert(out.end(), static_cast<size_t>(padded.channels), stage.pad_value);
      }
    }
  }
  return out;
}

CodeStream ConcatStream(const Pipeline& pipeline, const Stage& stage,
                        std::span<const CodeStream* const> inputs) {
  CodeStream out;
  std::vector<CodeStream::const_iterator> next;
  for (const CodeStream* in : inputs) next.push_back(in->begin());
  for (int64_t pixel = 0; pixel < pipeline.output(stage).map.pixels(); ++pixel) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t channels = pipeline.input(stage, i).map.channels;
      out.insert(out.end(), next[i], next[i] + channels);
      next[i] += channels;
    }
  }
  return out;
}

CodeStream RearrangeStream(const Pipeline& pipeline, const Stage& stage, const CodeStream& in) {
  const MapShape &map = pipeline.input(stage).map, &large = pipeline.output(stage).map;
  CodeStream out;
  for (int64_t y = 0; y < map.height; ++y) {
    const auto row = in.begin() + y * map.width * map.channels;
    for (int64_t fy = 0; fy < stage.factor_y; ++fy) {
      for (int64_t x = 0; x < map.width; ++x) {
        for (int64_t fx = 0; fx < stage.factor_x; ++fx) {
          const int64_t block =
              stage.depth_to_space ? (fy * stage.factor_x + fx) * large.channels : 0;
          const auto from = row + x * map.channels + block;
          out.insert(out.end(), from, from + large.channels);
        }
      }
    }
  }
  return out;
}

CodeStream ElementStream(const Pipeline& pipeline, const Stage& stage,
                         std::span<const CodeStream* const> inputs) {
  CodeStream out;
  const int bits = pipeline.input(stage).type.bits;
  for (size_t i = 0; i < inputs[0]->size(); ++i) {
    const int64_t code = (*inputs[0])[i];
    if (stage.kind == StageKind::kTable) {
      const auto index = static_cast<size_t>(code < 0 ? code + (int64_t{1} << bits) : code);
      out.push_back(stage.table[index]);
      continue;
    }
    int64_t sum = code * stage.factors[0] + stage.addend;
    if (inputs.size() == 2) sum += (*inputs[1])[i] * stage.factors[1];
    out.push_back(std::min(std::max(sum >> stage.shift, stage.low), stage.high));
  }
  return out;
}

CodeStream StreamOf(const Pipeline& pipeline, const Stage& stage,
                    std::span<const CodeStream* const> inputs) {
  switch (stage.kind) {
    case StageKind::kConvolution:
      return ConvolutionStream(pipeline, stage, *inputs[0]);
    case StageKind::kDepthwise:
      return DepthwiseStream(pipeline, stage, *inputs[0]);
    case StageKind::kMaxPool:
      return MaxPoolStream(pipeline, stage, *inputs[0]);
    case StageKind::kGlobalSum:
      return GlobalSumStream(pipeline, stage, *inputs[0]);
    case StageKind::kPad:
      return PadStream(pipeline, stage, *inputs[0]);
    case StageKind::kCrop:
      return CropStream(pipeline, stage, *inputs[0]);
    case StageKind::kConcat:
      return ConcatStream(pipeline, stage, inputs);
    case StageKind::kRearrange:
      return RearrangeStream(pipeline, stage, *inputs[0]);
    case StageKind::kTable:
    case StageKind::kAffine:
      return ElementStream(pipeline, stage, inputs);
    case StageKind::kWeightStream:  // the convolution has its weights
      return {};
    case StageKind::kSource:
    case StageKind::kSink:
    case StageKind::kFork:
    case StageKind::kWiden:
    case StageKind::kNarrow:
      break;
  }
  return *inputs[0];
}

}  // namespace

std::vector<CodeStream> StreamData(const Pipeline& pipeline, std::span<const CodeStream> inputs) {
  std::vector<CodeStream> streams(pipeline.channels.size());
  std::vector<CodeStream> results;
  size_t sources = 0;
  for (const Stage& stage : pipeline.stages) {
    std::vector<const CodeStream*> in;
    for (const int c : stage.inputs) in.push_back(&streams[static_cast<size_t>(c)]);
    if (stage.kind == StageKind::kSource) in.push_back(&inputs[sources++]);
    CodeStream out = StreamOf(pipeline, stage, in);
    // The last channel, or the results of a sink, take over the stream without a copy.
    for (size_t i = 0; i + 1 < stage.outputs.size(); ++i)
      streams[static_cast<size_t>(stage.outputs[i])] = out;
    CodeStream& last = stage.outputs.empty() ? results.emplace_back()
                                             : streams[static_cast<size_t>(stage.outputs.back())];
    last = std::move(out);
    for (const int c : stage.inputs) CodeStream().swap(streams[static_cast<size_t>(c)]);
  }
  return results;
}

}  // namespace kiln::dataflow
