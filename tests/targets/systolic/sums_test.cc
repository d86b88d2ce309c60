#include "kiln/targets/systolic/compile/sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "kiln/numerics/mac.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/numbers.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

Format Int(int64_t bits) { return *FindFormat("int" + std::to_string(bits)); }

// A work of random shape, weights and range of inputs on a small design point with random sums.
struct Trial {
  Config config = Fp32Machine();
  Work work;

  explicit Trial(Random& random) {
    const bool wide = random.Uniform() < 0.5;
    const Format operand = Int(wide ? 16 : 8);
    config.array_rows = config.array_columns = 4;
    config.input_format = config.weight_format = operand;
    const auto width = [&] {
      return random.Uniform() < 0.3 ? 32 : random.Between(wide ? 24 : 8, wide ? 32 : 20);
    };
    config.psum_format = Int(width());
    config.accumulation_format = random.Uniform() < 0.2 ? *FindFormat("fp32") : Int(width());

    Instruction& in = work.instruction;
    Convolution& conv = in.convolution;
    const bool depthwise = random.Uniform() < 0.2;
    in.opcode = depthwise ? Opcode::kDepthwise : Opcode::kMatrix;
    in.tiling.packing = !depthwise && random.Uniform() < 0.5 ? Packing::kTaps : Packing::kChannels;
    conv.kernel_y = static_cast<int32_t>(random.Between(1, 3));
    conv.kernel_x = static_cast<int32_t>(random.Between(1, 2));
    conv.channels = static_cast<int32_t>(random.Between(1, 9));
    conv.out_channels = depthwise ? conv.channels : static_cast<int32_t>(random.Between(1, 3));
    auto codes = std::make_shared<WeightCodes>();
    codes->channels = depthwise ? 1 : conv.channels;
    codes->rows = conv.taps() * codes->channels;
    codes->columns = conv.out_channels;
    codes->bytes = operand.bytes();
    const int64_t most = int64_t{1} << random.Between(0, operand.bits - 1);
    for (int64_t i = 0; i < codes->rows * codes->columns; ++i) {
      const int64_t weight =
          std::clamp(random.Between(-most, most), operand.min_code(), operand.max_code());
      codes->codes.resize(codes->codes.size() + static_cast<size_t>(codes->bytes));
      StoreBits(static_cast<uint32_t>(weight), codes->bytes,
                codes->codes.data() + i * codes->bytes);
    }
    work.codes = std::move(codes);
    work.input_counts = {random.Between(operand.min_code(), 0),
                         random.Between(0, operand.max_code())};
    if (config.accumulation_format.is_integer() && random.Uniform() < 0.5) {
      work.input_zero =
          static_cast<int32_t>(random.Between(work.input_counts.low, work.input_counts.high));
    }
  }

  int64_t WeightAt(int64_t row, int64_t column) const {
    return IntegerOperand(config.weight_format,
                          kiln::LoadCode(config.weight_format, work.codes->codes.data(),
                                         row * work.codes->columns + column));
  }
  // Rows of weights, tile by tile, as the machine takes them.
  std::vector<std::vector<int64_t>> Tiles() const {
    std::vector<std::vector<int64_t>> tiles(1);
    const int64_t rows = work.codes->rows;
    if (work.instruction.opcode == Opcode::kDepthwise) {
      for (int64_t row = 0; row < rows; ++row) tiles[0].push_back(row);
      return tiles;
    }
    tiles.clear();
    for (int32_t tile = 0; tile < GeometryOf(work.instruction, config).row_tiles(); ++tile) {
      tiles.emplace_back();
      for (int32_t row = 0; row < config.array_rows; ++row) {
        const int64_t index = WeightIndex(work.instruction, config, tile, row);
        if (index >= 0) tiles.back().push_back(index);
      }
    }
    return tiles;
  }
  // Whether the machine's result for these inputs, by the definition of its sums, is another than
  // the exact one. A float accumulation rounds; then it is the psums that are compared.
  bool IsWrong(int64_t column, const std::vector<int64_t>& inputs) const {
    const MacRule rule = RuleOf(config, /*scaled=*/false);
    int64_t exact = 0, zeros = 0;
    uint32_t accumulation = MacZero(rule.accumulation);
    for (const std::vector<int64_t>& tile : Tiles()) {
      uint32_t psum = MacZero(rule.psum);
      int64_t exact_psum = 0;
      for (const int64_t row : tile) {
        const int64_t x = inputs[static_cast<size_t>(row)], w = WeightAt(row, column);
        psum =
            PsumStep(rule, psum, MaskOf(config.input_format, x), MaskOf(config.weight_format, w));
        exact_psum += x * w;
        zeros += w * work.input_zero;
      }
      exact += exact_psum;
      if (!rule.accumulation.is_integer() && static_cast<int32_t>(psum) != exact_psum) return true;
      accumulation = AccumulationStep(rule, accumulation, psum, 1);
    }
    if (!rule.accumulation.is_integer()) return false;
    return static_cast<int32_t>(accumulation - static_cast<uint32_t>(zeros)) != exact - zeros;
  }
  static uint32_t MaskOf(const Format& format, int64_t code) {
    return static_cast<uint32_t>(code) & static_cast<uint32_t>((uint64_t{1} << format.bits) - 1);
  }
  // Inputs that drive the sum of one tile (or, with -1, of all) to one of its ends; those of others
  // are zero.
  std::vector<int64_t> Extreme(int64_t column, bool high, int which) const {
    std::vector<int64_t> inputs(static_cast<size_t>(work.codes->rows), 0);
    const auto tiles = Tiles();
    for (int tile = 0; tile < static_cast<int>(tiles.size()); ++tile) {
      if (which >= 0 && which != tile) continue;
      for (const int64_t row : tiles[static_cast<size_t>(tile)]) {
        const bool up = (WeightAt(row, column) > 0) == high;
        inputs[static_cast<size_t>(row)] = up ? work.input_counts.high : work.input_counts.low;
      }
    }
    return inputs;
  }
  bool SomethingIsWrong() const {
    const int tiles = static_cast<int>(Tiles().size());
    for (int64_t column = 0; column < work.codes->columns; ++column) {
      for (int tile = -1; tile < tiles; ++tile) {
        for (const bool high : {false, true}) {
          if (IsWrong(column, Extreme(column, high, tile))) return true;
        }
      }
    }
    return false;
  }
};

// Against the definition of the sums: what is said to wrap does for some inputs, and what is not
// does for none tried.
TEST(Sums, AreExactAboutWhatCanWrap) {
  Random random(1);
  int wrapping = 0;
  for (int i = 0; i < 3000; ++i) {
    const Trial trial(random);
    const Sums sums = SumsOf(trial.work, trial.config);
    EXPECT_EQ(sums.products, trial.work.codes->rows);
    const bool wraps = CanWrap(sums, trial.config);
    EXPECT_EQ(wraps, trial.SomethingIsWrong()) << "trial " << i;
    wrapping += wraps ? 1 : 0;
    SumCheck check(trial.config);
    check.Add("layer", trial.work);
    EXPECT_EQ(check.Note().empty(), !wraps) << "trial " << i;
    if (wraps) continue;
    for (int k = 0; k < 4; ++k) {
      std::vector<int64_t> inputs;
      for (int64_t row = 0; row < trial.work.codes->rows; ++row) {
        inputs.push_back(random.Between(trial.work.input_counts.low, trial.work.input_counts.high));
      }
      EXPECT_FALSE(trial.IsWrong(0, inputs)) << "trial " << i;
    }
  }
  EXPECT_GT(wrapping, 500);
  EXPECT_LT(wrapping, 2500);
}

// What the note calls right is a design point that there can be, and holds all sums.
TEST(Sums, WhatTheNoteCallsRightIs) {
  Random random(2);
  int notes = 0;
  for (int i = 0; i < 2000; ++i) {
    const Trial trial(random);
    SumCheck check(trial.config);
    check.Add("layer", trial.work);
    const std::string note = check.Note(), mark = "right would be ";
    if (note.empty()) continue;
    ++notes;
    Config right = trial.config;
    Work work = trial.work;
    std::istringstream words(note.substr(note.find(mark) + mark.size()));
    for (std::string part; std::getline(words, part, ',');) {
      part.erase(0, part.find_first_not_of(' '));
      const size_t colon = part.find(": ");
      if (colon == std::string::npos) {
        EXPECT_EQ(part, "activations without zero point");
        EXPECT_NE(work.input_zero, 0);
        work.input_zero = 0;
        continue;
      }
      const auto format = FindFormat(part.substr(colon + 2));
      ASSERT_TRUE(format.ok()) << note;
      const std::string key = part.substr(0, colon);
      ASSERT_TRUE(key == "psum_format" || key == "accumulation_format") << note;
      (key == "psum_format" ? right.psum_format : right.accumulation_format) = *format;
    }
    EXPECT_FALSE(FindFormatFault(right).has_value()) << note;
    EXPECT_FALSE(CanWrap(SumsOf(work, right), right)) << note;
    if (!right.accumulation_format.is_integer()) {
      EXPECT_EQ(work.input_zero, 0) << note;
    }
  }
  EXPECT_GT(notes, 500);
}

Work ProductOf(int64_t rows, int64_t weight) {
  Work work;
  work.instruction.opcode = Opcode::kMatrix;
  work.instruction.convolution.channels = static_cast<int32_t>(rows);
  work.instruction.convolution.out_channels = 1;
  auto codes = std::make_shared<WeightCodes>();
  codes->rows = codes->channels = rows;
  codes->bytes = 2;
  codes->codes.resize(static_cast<size_t>(2 * rows));
  for (int64_t i = 0; i < rows; ++i)
    StoreBits(static_cast<uint32_t>(weight), 2, codes->codes.data() + 2 * i);
  work.codes = std::move(codes);
  work.input_counts = {-32767, 32767};
  return work;
}

// Codes of 16 bits could make 1000 products leave int32; these weights cannot.
TEST(Sums, SmallWeightsAreNoReasonToWarn) {
  Config config = Fp32Machine();
  config.input_format = config.weight_format = Int(16);
  SumCheck small(config);
  small.Add("small", ProductOf(1000, 65));  // 1000 * 65 * 32767 < 2^31
  EXPECT_EQ(small.Note(), "");
  SumCheck greater(config);
  greater.Add("greater", ProductOf(1000, 66));
  EXPECT_THAT(
      greater.Note(),
      HasSubstr(
          "sums of int16 x int16 can wrap in accumulation_format int32 in 1 layer: longest in "
          "'greater', 1000 products, up to 33 bits; right would be accumulation_format: "
          "fp32"));
}

TEST(Sums, TheLongestLayerThatCanWrapIsNamed) {
  Config config = Fp32Machine();
  config.input_format = config.weight_format = Int(16);
  SumCheck check(config);
  check.Add("short", ProductOf(10, 30000));
  check.Add("long", ProductOf(20, 30000));
  check.Add("long", ProductOf(20, -30000));
  check.Add("harmless", ProductOf(30, 1));
  EXPECT_THAT(check.Note(), HasSubstr("in 2 layers: longest in 'long', 20 products"));
}

// Ranges that just fit an integer, and those one beyond on either side.
TEST(Sums, RangesHaveTheBitsOfTheirEnds) {
  for (int bits = 2; bits < 62; ++bits) {
    const int64_t end = int64_t{1} << (bits - 1);
    EXPECT_EQ((SumRange{-end, end - 1}.bits()), bits);
    EXPECT_EQ((SumRange{0, end}.bits()), bits + 1);
    EXPECT_EQ((SumRange{-end - 1, 0}.bits()), bits + 1);
    EXPECT_EQ((SumRange{-end, 0}.bits()), bits);
    EXPECT_EQ((SumRange{0, end - 1}.bits()), bits);
  }
  EXPECT_EQ(SumRange{}.bits(), 1);
}

TEST(Sums, WarnFromTheFirstRangeThatDoesNotFit) {
  const auto range = [](int bits, int64_t beyond) {
    const int64_t end = int64_t{1} << (bits - 1);
    return SumRange{-end, end - 1 + beyond};
  };
  const auto can_wrap = [](int psum_bits, const char* accumulation, const SumRange& psum,
                           const SumRange& sum, const SumRange& result) {
    Config config = Fp32Machine();
    config.psum_format = Int(psum_bits);
    config.accumulation_format = *FindFormat(accumulation);
    Sums sums;
    sums.psum = psum;
    sums.accumulation = sum;
    sums.result = result;
    return CanWrap(sums, config);
  };
  const SumRange none;
  for (const int64_t beyond : {0, 1}) {
    const bool wraps = beyond == 1;
    EXPECT_EQ(can_wrap(32, "int32", none, none, range(32, beyond)), wraps);
    EXPECT_EQ(can_wrap(20, "fp32", range(20, beyond), none, none), wraps);
    EXPECT_EQ(can_wrap(32, "int24", none, range(24, beyond), none), wraps);
    EXPECT_EQ(can_wrap(20, "int32", range(20, beyond), none, none), wraps);
    // Psums of as many bits as the accumulation, or more, come back with it.
    EXPECT_FALSE(can_wrap(24, "int24", range(24, beyond), range(24, 0), none));
    EXPECT_FALSE(can_wrap(32, "int24", range(32, beyond), range(24, 0), none));
    EXPECT_FALSE(can_wrap(32, "int32", range(32, beyond), range(32, beyond), range(32, 0)));
  }
}

// One product: 2^15 times the greatest input code. An accumulation of 24 bits holds 255 * 2^15, and
// not 256 * 2^15.
TEST(Sums, NotesBeginWhereSumsLeaveTheirIntegers) {
  for (const auto& [input, wraps] : {std::pair(255, false), {256, true}, {257, true}}) {
    Config config = Fp32Machine();
    config.input_format = config.weight_format = Int(16);
    config.psum_format = Int(32);
    config.accumulation_format = Int(24);
    Work work = ProductOf(1, -32768);
    work.input_counts = {-input, 0};
    SumCheck check(config);
    check.Add("layer", work);
    EXPECT_EQ(!check.Note().empty(), wraps) << input << check.Note();
  }
}

// Inputs with a zero point at their end: results reach twice as far as accumulations.
TEST(Sums, ZeroPointsDoubleTheReachOfResults) {
  for (const auto& [rows, wraps] : {std::pair(65793, false), {65794, true}}) {
    Config config = Fp32Machine();  // int8, sums of int32
    Work work;
    work.instruction.opcode = Opcode::kMatrix;
    work.instruction.convolution.channels = rows;
    work.instruction.convolution.out_channels = 1;
    auto codes = std::make_shared<WeightCodes>();
    codes->rows = codes->channels = rows;
    codes->bytes = 1;
    codes->codes.assign(static_cast<size_t>(rows), 0x80);  // -128
    work.codes = std::move(codes);
    work.input_counts = {-128, 127};
    work.input_zero = -128;  // 255 * 128 a product: 65793 times that is below 2^31
    SumCheck check(config);
    check.Add("layer", work);
    EXPECT_EQ(!check.Note().empty(), wraps) << rows << check.Note();
  }
}

// Operands that are both activations: any codes may meet.
TEST(Sums, OfTwoActivations) {
  Config config = Fp32Machine();
  config.input_format = config.weight_format = Int(16);
  Work work;
  work.instruction.convolution.channels = 4;
  work.input_counts = work.weight_counts = {-16384, 16383};
  EXPECT_EQ(SumsOf(work, config).accumulation.high, int64_t{4} << 28);
  SumCheck four(config), eight(config);
  four.Add("attention", work);
  EXPECT_EQ(four.Note(), "");
  work.instruction.convolution.channels = 8;  // 8 * 2^28 = 2^31
  eight.Add("attention", work);
  EXPECT_THAT(eight.Note(), HasSubstr("'attention', 8 products"));
}

}  // namespace
}  // namespace kiln::systolic
