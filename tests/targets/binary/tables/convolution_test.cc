// Convolutions by tables against plain integer loops, for every width of weights and activations.
#include "kiln/targets/binary/tables/convolution.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/parallel.h"
#include "kiln/support/random.h"

namespace kiln::binary {
namespace {

using ::testing::HasSubstr;

std::vector<int64_t> PlainConvolution(const WindowShape& s, const std::vector<int32_t>& input,
                                      const std::vector<int32_t>& weights) {
  std::vector<int64_t> out;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t oy = 0; oy < s.out_height(); ++oy) {
      for (int64_t ox = 0; ox < s.out_width(); ++ox) {
        for (int64_t n = 0; n < s.outputs; ++n) {
          int64_t sum = 0;
          for (int64_t ky = 0; ky < s.kernel_height; ++ky) {
            for (int64_t kx = 0; kx < s.kernel_width; ++kx) {
              const int64_t y = oy * s.stride_y + ky - s.top, x = ox * s.stride_x + kx - s.left;
              if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
              for (int64_t c = 0; c < s.channels; ++c) {
                sum += int64_t{input[static_cast<size_t>(
                           ((b * s.height + y) * s.width + x) * s.channels + c)]} *
                       weights[static_cast<size_t>(
                           ((n * s.kernel_height + ky) * s.kernel_width + kx) * s.channels + c)];
              }
            }
          }
          out.push_back(sum);
        }
      }
    }
  }
  return out;
}

struct Case {
  WindowShape shape;
  TableFormat format;
  std::vector<int32_t> input, weights;
};

int32_t RandomWeight(Random& random, const WeightFormat& format) {
  while (true) {
    const auto w = static_cast<int32_t>(random.Between(format.lowest(), format.highest()));
    if (format.Holds(w)) return w;
  }
}

// Values are random, or all at one end of their range.
Case MakeCase(const WindowShape& shape, const TableFormat& format, uint64_t seed) {
  Random random(seed);
  Case made{shape, format, {}, {}};
  const uint64_t extreme = random.Below(4);
  const ActivationFormat& activations = format.activations;
  for (int64_t i = 0; i < shape.input_size(); ++i) {
    int32_t x = static_cast<int32_t>(random.Between(activations.lowest(), activations.highest()));
    if (extreme == 0) x = activations.highest();
    if (extreme == 1) x = activations.lowest();
    if (random.Below(4) == 0) x = 0;
    made.input.push_back(x);
  }
  for (int64_t i = 0; i < shape.outputs * shape.window(); ++i) {
    made.weights.push_back(extreme == 0   ? format.weights.highest()
                           : extreme == 1 ? format.weights.lowest()
                                          : RandomWeight(random, format.weights));
  }
  return made;
}

WindowShape RandomShape(Random& random) {
  WindowShape shape;
  shape.batch = random.Between(1, 2);
  shape.height = random.Between(1, 7);
  shape.width = random.Between(1, 7);
  shape.channels = random.Between(1, 13);
  shape.outputs = random.Between(1, 100);
  shape.top = random.Between(0, 2);
  shape.left = random.Between(0, 2);
  shape.bottom = random.Between(0, 2);
  shape.right = random.Between(0, 2);
  shape.kernel_height = random.Between(1, std::min<int64_t>(5, shape.padded_height()));
  shape.kernel_width = random.Between(1, std::min<int64_t>(5, shape.padded_width()));
  shape.stride_y = random.Between(1, 3);
  shape.stride_x = random.Between(1, 3);
  return shape;
}

void ExpectExact(const Case& made, CpuLevel level, const std::string& name) {
  const auto convolution = TableConvolution::Create(made.shape, made.format, made.weights, level);
  ASSERT_TRUE(convolution.ok()) << MessageOf(convolution.status());
  std::vector<int64_t> out(static_cast<size_t>(made.shape.output_size()), -1);
  ASSERT_TRUE(convolution->Run(made.input, out).ok());
  EXPECT_EQ(out, PlainConvolution(made.shape, made.input, made.weights)) << name;
  std::vector<int32_t> narrow(out.size(), -1);
  EXPECT_EQ(convolution->Run(made.input, narrow).ok(), convolution->Fits32());
  if (convolution->Fits32()) {
    EXPECT_EQ(out, std::vector<int64_t>(narrow.begin(), narrow.end())) << name;
  }
}

// Every pair of widths, with the coding, the signs, the group and the shape drawn anew.
TEST(TableConvolution, EqualsPlainConvolutionForAllWidths) {
  for (int weight_bits = 1; weight_bits <= kMaxBits; ++weight_bits) {
    for (int activation_bits = 1; activation_bits <= kMaxBits; ++activation_bits) {
      Random random(static_cast<uint64_t>(weight_bits * 100 + activation_bits));
      const TableFormat format{{static_cast<WeightCoding>(random.Below(3)), weight_bits},
                               {random.Below(2) == 0, activation_bits},
                               static_cast<int>(random.Between(1, kMaxGroup)),
                               static_cast<Grouping>(random.Below(2))};
      const Case made = MakeCase(RandomShape(random), format, random());
      const std::string name =
          fmt::format("W{} A{} group {}", weight_bits, activation_bits, format.group);
      ExpectExact(made, CpuLevel::kPortable, name);
      if (GetCpuLevel() > CpuLevel::kPortable) ExpectExact(made, GetCpuLevel(), name);
    }
  }
}

// Every coding, group and grouping, at the greatest entries and with long sums, which pass through
// 16 bits.
TEST(TableConvolution, EqualsPlainConvolutionForAllGroups) {
  WindowShape shape;
  shape.height = 4;
  shape.width = 5;
  shape.channels = 67;
  shape.outputs = 70;
  shape.kernel_height = shape.kernel_width = 3;
  shape.top = shape.left = shape.bottom = shape.right = 1;
  uint64_t seed = 0;
  for (int group = 1; group <= kMaxGroup; ++group) {
    for (Grouping grouping : {Grouping::kTaps, Grouping::kChannels}) {
      for (WeightCoding coding :
           {WeightCoding::kSigned, WeightCoding::kUnsigned, WeightCoding::kOdd}) {
        for (bool is_signed : {false, true}) {
          const TableFormat format{{coding, 2}, {is_signed, 8}, group, grouping};
          Case made = MakeCase(shape, format, ++seed);
          if (seed % 2 == 0) {
            for (int32_t& x : made.input) x = format.activations.highest();
            for (int32_t& w : made.weights) w = format.weights.highest();
          }
          ExpectExact(made, GetCpuLevel(), fmt::format("group {}", group));
          ExpectExact(made, CpuLevel::kPortable, fmt::format("portable, group {}", group));
        }
      }
    }
  }
}

// Wide rows make bands of few rows, which share tables.
TEST(TableConvolution, ThreadsGiveTheSameBits) {
  WindowShape shape;
  shape.height = 20;
  shape.width = 90;
  shape.channels = 90;
  shape.outputs = 33;
  shape.kernel_height = shape.kernel_width = 3;
  for (Grouping grouping : {Grouping::kTaps, Grouping::kChannels}) {
    const TableFormat format{{WeightCoding::kSigned, 3}, {false, 8}, 3, grouping};
    const Case made = MakeCase(shape, format, 7);
    const auto convolution = TableConvolution::Create(shape, format, made.weights);
    ASSERT_TRUE(convolution.ok());
    std::vector<int64_t> one(static_cast<size_t>(shape.output_size())), two = one;
    SetThreadCount(1);
    ASSERT_TRUE(convolution->Run(made.input, one).ok());
    SetThreadCount(2);
    ASSERT_TRUE(convolution->Run(made.input, two).ok());
    SetThreadCount(0);
    EXPECT_EQ(one, two);
    EXPECT_EQ(one, PlainConvolution(shape, made.input, made.weights));
  }
}

// Counts of a convolution in plain loops over groups of taps of one channel (paper's groups).
TEST(TableConvolution, CountsGroupsOfTaps) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    TableFormat format{{WeightCoding::kSigned, static_cast<int>(random.Between(1, 3))},
                       {false, static_cast<int>(random.Between(3, 9))},
                       static_cast<int>(random.Between(1, kMaxGroup)),
                       Grouping::kTaps};
    Case made = MakeCase(RandomShape(random), format, seed);
    for (int32_t& x : made.input) x = random.Below(3) == 0 ? x : 0;
    const WindowShape& s = made.shape;
    const int64_t chain[] = {0, 0, 2, 6, 14, 30, 62};
    int64_t tables = 0, gated = 0, additions = 0;
    for (int64_t p = 0; p < s.positions(); ++p) {
      const int64_t b = p / (s.out_height() * s.out_width());
      const int64_t oy = p / s.out_width() % s.out_height(), ox = p % s.out_width();
      for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t first = 0; first < s.taps(); first += format.group) {
          const int64_t end = std::min(s.taps(), first + format.group);
          for (int shift = 0; shift < format.activations.bits; shift += 4) {
            bool zero = true;
            for (int64_t tap = first; tap < end; ++tap) {
              const int64_t y = oy * s.stride_y + tap / s.kernel_width - s.top;
              const int64_t x = ox * s.stride_x + tap % s.kernel_width - s.left;
              if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
              const int32_t value = made.input[static_cast<size_t>(
                  ((b * s.height + y) * s.width + x) * s.channels + c)];
              zero = zero && value / (1 << shift) % 16 == 0;
            }
            zero ? ++gated : ++tables;
            if (!zero) additions += chain[end - first];
          }
        }
      }
    }
    const auto convolution = TableConvolution::Create(s, format, made.weights);
    ASSERT_TRUE(convolution.ok());
    const auto counts = convolution->Count(made.input, Builder::kChain);
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->tables, tables);
    EXPECT_EQ(counts->gated_tables, gated);
    EXPECT_EQ(counts->gated_groups, gated);
    EXPECT_EQ(counts->groups, gated + tables);
    EXPECT_EQ(counts->table_additions, additions);
    EXPECT_EQ(counts->look_ups, tables * s.outputs * format.weights.bits);
    EXPECT_EQ(counts->base_look_ups, tables);
    EXPECT_EQ(counts->accumulations, tables * (s.outputs * format.weights.bits + 1));
  }
}

// Counts of groups of channels, whose tables serve several positions.
TEST(TableConvolution, CountsGroupsOfChannels) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    TableFormat format{{WeightCoding::kOdd, 2},
                       {true, static_cast<int>(random.Between(3, 9))},
                       static_cast<int>(random.Between(1, kMaxGroup)),
                       Grouping::kChannels};
    Case made = MakeCase(RandomShape(random), format, seed);
    for (int32_t& x : made.input) x = random.Below(3) == 0 ? x : 0;
    const WindowShape& s = made.shape;
    int64_t groups = 0, gated = 0;
    for (int64_t p = 0; p < s.positions(); ++p) {
      const int64_t b = p / (s.out_height() * s.out_width());
      const int64_t oy = p / s.out_width() % s.out_height(), ox = p % s.out_width();
      for (int64_t tap = 0; tap < s.taps(); ++tap) {
        const int64_t y = oy * s.stride_y + tap / s.kernel_width - s.top;
        const int64_t x = ox * s.stride_x + tap % s.kernel_width - s.left;
        const bool outside = y < 0 || y >= s.height || x < 0 || x >= s.width;
        for (int64_t first = 0; first < s.channels; first += format.group) {
          for (int shift = 0; shift < format.activations.bits; shift += 4) {
            bool zero = true;
            for (int64_t c = first; c < std::min(s.channels, first + format.group); ++c) {
              if (outside) continue;
              const int32_t value = made.input[static_cast<size_t>(
                  ((b * s.height + y) * s.width + x) * s.channels + c)];
              const uint32_t low = static_cast<uint32_t>(value) % (1u << format.activations.bits);
              zero = zero && (low >> shift) % 16 == 0;
            }
            ++groups;
            gated += zero ? 1 : 0;
          }
        }
      }
    }
    const auto convolution = TableConvolution::Create(s, format, made.weights);
    ASSERT_TRUE(convolution.ok());
    const auto counts = convolution->Count(made.input);
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->groups, groups);
    EXPECT_EQ(counts->gated_groups, gated);
    EXPECT_EQ(counts->look_ups, (groups - gated) * 2 * s.outputs);
    EXPECT_EQ(counts->base_look_ups, 0);
  }
}

// 4 x 4 pixels without zeros, 2 channels, 3x3 kernel, groups of 2 channels: one table per pixel and
// digit, 2 additions each; 2 x 2 positions look up 9 groups.
TEST(TableConvolution, CountsByHand) {
  WindowShape shape;
  shape.height = shape.width = 4;
  shape.channels = 2;
  shape.outputs = 5;
  shape.kernel_height = shape.kernel_width = 3;
  const TableFormat format{{WeightCoding::kSigned, 8}, {false, 8}, 2, Grouping::kChannels};
  const std::vector<int32_t> weights(90, 1), input(32, 0x11);
  const auto counts = TableConvolution::Create(shape, format, weights)->Count(input);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->tables, 32);
  EXPECT_EQ(counts->table_additions, 64);
  EXPECT_EQ(counts->groups, 4 * 9 * 2);
  EXPECT_EQ(counts->look_ups, 4 * 9 * 2 * 8 * 5);
  EXPECT_EQ(counts->base_look_ups, 4 * 9 * 2);
  // Sixteen sums of planes and digits and the base of each output; two digits of each base.
  EXPECT_EQ(counts->combinations, 4 * 5 * 16 + 4);
  EXPECT_EQ(counts->plain_additions, 4 * 5 * 18 * 16);
}

TEST(TableConvolution, RejectsWhatDoesNotFit) {
  WindowShape shape;
  shape.height = shape.width = 3;
  shape.outputs = 2;
  const TableFormat format{{WeightCoding::kOdd, 1}, {false, 8}, 3, Grouping::kTaps};
  const std::vector<int32_t> weights = {1, -1};
  const auto message = [&](const WindowShape& s, const TableFormat& f,
                           const std::vector<int32_t>& w) {
    return MessageOf(TableConvolution::Create(s, f, w).status());
  };
  EXPECT_EQ(message(shape, format, weights), "");
  EXPECT_EQ(message(shape, format, {1, 0}),
            "weight 1: 0 is no value of the format; use odd values from -1 to 1");
  EXPECT_EQ(message(shape, format, {1}), "weights: 1 values do not fit the shape; give 2");
  TableFormat bad = format;
  bad.group = 7;
  EXPECT_EQ(message(shape, bad, weights), "key 'group': 7 is out of range; use 1 to 6");
  bad = format;
  bad.activations.bits = 17;
  EXPECT_THAT(message(shape, bad, weights), HasSubstr("key 'activation_bits': 17"));
  bad = format;
  bad.weights.bits = 0;
  EXPECT_THAT(message(shape, bad, weights), HasSubstr("key 'weight_bits': 0"));
  WindowShape wrong = shape;
  wrong.kernel_width = 4;
  EXPECT_THAT(message(wrong, format, weights), HasSubstr("a kernel of 1x4 does not fit"));
  wrong = shape;
  wrong.stride_x = 0;
  EXPECT_EQ(message(wrong, format, weights), "key 'stride_x': 0 is out of range; use 1 to 2^24");
  wrong = shape;
  wrong.left = -1;
  EXPECT_EQ(message(wrong, format, weights), "key 'left': -1 is out of range; use 0 to 2^24");
  wrong = shape;
  wrong.channels = int64_t{1} << 23;
  EXPECT_THAT(message(wrong, format, weights), HasSubstr("a window holds 8388608 inputs"));
  wrong = shape;
  wrong.height = wrong.width = wrong.batch = int64_t{1} << 24;
  EXPECT_THAT(message(wrong, format, weights), HasSubstr("a tensor has 4.72e+21 values"));
  const auto convolution = TableConvolution::Create(shape, format, weights);
  std::vector<int64_t> out(18);
  TableFormat wide = format;
  wide.weights = {WeightCoding::kSigned, 16};
  wide.activations.bits = 16;
  std::vector<int32_t> narrow(18);
  EXPECT_EQ(MessageOf(TableConvolution::Create(shape, wide, weights)
                          ->Run(std::vector<int32_t>(9, 255), narrow)),
            "output: sums of this window may need more than 32 bits; use outputs of 64 bits");
  std::vector<int32_t> input(9, 255);
  EXPECT_TRUE(convolution->Run(input, out).ok());
  EXPECT_THAT(MessageOf(convolution->Run(input, std::span(out).first(1))), HasSubstr("give 18"));
  input[4] = 256;
  EXPECT_EQ(MessageOf(convolution->Run(input, out)),
            "input 4: 256 is no value of the format; use 0 to 255");
  input.pop_back();
  EXPECT_THAT(MessageOf(convolution->Count(input).status()), HasSubstr("give 9"));
}

}  // namespace
}  // namespace kiln::binary
