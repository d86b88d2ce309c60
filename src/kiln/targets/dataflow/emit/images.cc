// Packs weights and constants into the words of memories.

#include "kiln/targets/dataflow/emit/images.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

// Collects the bits of words, lowest first, and prints each word as a line.
class HexWords {
 public:
  explicit HexWords(int64_t width) : digits_((width + 3) / 4) {}

  // Appends the low `bits` bits of a number to the current word.
  void Append(int64_t number, int bits) {
    for (int i = 0; i < bits; ++i) bits_.push_back((number >> std::min(i, 63) & 1) != 0);
  }
  void EndWord() {
    std::string line(static_cast<size_t>(digits_), '0');
    for (size_t i = 0; i < bits_.size(); ++i) {
      if (!bits_[i]) continue;
      char& digit = line[line.size() - 1 - i / 4];
      const int value = (digit <= '9' ? digit - '0' : digit - 'a' + 10) + (1 << (i % 4));
      digit = static_cast<char>(value < 10 ? '0' + value : 'a' + value - 10);
    }
    text_ += line + '\n';
    bits_.clear();
  }
  std::string Take() { return std::move(text_); }

 private:
  const int64_t digits_;
  std::vector<bool> bits_;
  std::string text_;
};

// Returns the code of a weight: of -1 and +1, which have one bit, 0 and 1.
int64_t CodeOfWeight(const Stage& stage, int32_t weight) {
  return stage.weight_bits == 1 ? (weight > 0 ? 1 : 0) : weight;
}

std::string ConvolutionWeights(const Pipeline& pipeline, const Stage& stage) {
  const auto of_word = static_cast<size_t>(WeightWordsOf(pipeline, stage).weights);
  const std::vector<int64_t> codes = WeightCodesOf(pipeline, stage);
  HexWords words(static_cast<int64_t>(of_word) * stage.weight_bits);
  for (size_t first = 0; first < codes.size(); first += of_word) {
    for (size_t i = 0; i < of_word; ++i) words.Append(codes[first + i], stage.weight_bits);
    words.EndWord();
  }
  return words.Take();
}

std::string DepthwiseWeights(const Pipeline& pipeline, const Stage& stage) {
  const int64_t lanes = pipeline.input(stage).lanes, taps = stage.window.taps();
  HexWords words(taps * lanes * stage.weight_bits);
  for (int64_t first = 0; first < stage.map.channels; first += lanes) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t l = 0; l < lanes; ++l) {
        const int32_t weight = stage.weights[static_cast<size_t>((first + l) * taps + t)];
        words.Append(CodeOfWeight(stage, weight), stage.weight_bits);
      }
    }
    words.EndWord();
  }
  return words.Take();
}

// Files of the constants: of a multiplication one, of thresholds one for each level and lane.
std::vector<ImageFile> ConstantImages(const Pipeline& pipeline, const Stage& stage) {
  const Requantise& r = stage.requantise;
  const Channel& out = pipeline.output(stage);
  const int64_t lanes = out.lanes, channels = out.map.channels;
  std::vector<ImageFile> files;
  if (r.way == Requantise::Way::kMultiply) {
    const int addend_bits = AddendBits(r);
    HexWords words(lanes * (addend_bits + kMultiplierBits));
    for (int64_t first = 0; first < channels; first += lanes) {
      for (int64_t l = 0; l < lanes; ++l) {
        const auto c = static_cast<size_t>(first + l);
        words.Append(r.multipliers[c], kMultiplierBits);
        words.Append(r.addends[c], addend_bits);
      }
      words.EndWord();
    }
    files.emplace_back(ConstantsFile(stage), words.Take());
  }
  if (r.way == Requantise::Way::kThresholds) {
    const int n = r.threshold_bits;
    const int64_t count = (int64_t{1} << n) - 1;
    for (int level = 0; level < n; ++level) {
      for (int64_t l = 0; l < lanes; ++l) {
        HexWords words(stage.sum_bits);
        for (int64_t first = 0; first < channels; first += lanes) {
          for (int64_t p = 0; p < int64_t{1} << level; ++p) {
            const int64_t number = (2 * p + 1) << (n - 1 - level);
            words.Append(r.thresholds[static_cast<size_t>((first + l) * count + number - 1)],
                         stage.sum_bits);
            words.EndWord();
          }
        }
        files.emplace_back(fmt::format("{}_{}_{:03}.hex", ConstantsFile(stage), level, l),
                           words.Take());
      }
    }
  }
  return files;
}

// Returns the path of a file with contents of a stage's memories.
std::string ContentsFile(const Stage& stage, std::string_view what) {
  return fmt::format("{}/{}_{}", hardware::kContentsFolder, stage.name, what);
}

}  // namespace

std::vector<int64_t> WeightCodesOf(const Pipeline& pipeline, const Stage& convolution) {
  const WindowLoops loops = LoopsOf(pipeline, convolution);
  const int64_t lanes = pipeline.input(convolution).lanes, taps = convolution.window.taps();
  const int64_t depth = loops.words_per_group * lanes;
  std::vector<int64_t> codes;
  codes.reserve(convolution.weights.size());
  for (int64_t result = 0; result < loops.groups * loops.passes; ++result) {
    for (int64_t word = 0; word < loops.words_per_group; ++word) {
      for (int64_t e = 0; e < convolution.elements; ++e) {
        for (int64_t t = 0; t < taps; ++t) {
          for (int64_t l = 0; l < lanes; ++l) {
            const int64_t channel = result * convolution.elements + e;
            const int64_t place = (channel * taps + t) * depth + word * lanes + l;
            codes.push_back(
                CodeOfWeight(convolution, convolution.weights[static_cast<size_t>(place)]));
          }
        }
      }
    }
  }
  return codes;
}

std::string WeightsFile(const Stage& stage) { return ContentsFile(stage, "weights.hex"); }
std::string TableFile(const Stage& stage) { return ContentsFile(stage, "table.hex"); }
std::string ConstantsFile(const Stage& stage) {
  const bool thresholds = stage.requantise.way == Requantise::Way::kThresholds;
  return ContentsFile(stage, thresholds ? "thresholds" : "constants.hex");
}

int AddendBits(const Requantise& requantise) {
  if (requantise.addends.empty()) return 1;
  const auto [low, high] = std::ranges::minmax_element(requantise.addends);
  return std::max(2, SignedBits(*low, *high));
}

std::vector<ImageFile> ImagesOf(const Pipeline& pipeline, const Stage& stage) {
  std::vector<ImageFile> files;
  switch (stage.kind) {
    case StageKind::kConvolution:
      files = ConstantImages(pipeline, stage);
      if (!pipeline.Streams(stage))
        files.emplace_back(WeightsFile(stage), ConvolutionWeights(pipeline, stage));
      break;
    case StageKind::kDepthwise:
      files = ConstantImages(pipeline, stage);
      files.emplace_back(WeightsFile(stage), DepthwiseWeights(pipeline, stage));
      break;
    case StageKind::kGlobalSum:
      files = ConstantImages(pipeline, stage);
      break;
    case StageKind::kTable: {
      HexWords words(pipeline.output(stage).type.bits);
      for (const int32_t code : stage.table) {
        words.Append(code, pipeline.output(stage).type.bits);
        words.EndWord();
      }
      files.emplace_back(TableFile(stage), words.Take());
      break;
    }
    default:
      break;
  }
  return files;
}

}  // namespace kiln::dataflow
