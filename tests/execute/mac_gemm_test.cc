// Compares every kernel of mac_gemm.h with the definition in numerics/mac.h, bit for bit: random
// rules, shapes that are ragged in every dimension, row tiles of every length, block scales, and
// operands chosen for the corner cases of rounding.
#include "kiln/execute/mac_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

Format Find(const std::string& name) {
  StatusOr<Format> format = FindFormat(name);
  EXPECT_TRUE(format.ok()) << name;
  return std::move(format).value();
}

struct RuleText {
  std::string input, weight, psum, accumulation;
  bool product_rounded = false, quire = false, scaled = false, parted = false;

  MacRule Rule() const {
    MacRule rule;
    rule.input = Find(input);
    rule.weight = Find(weight);
    rule.psum = Find(psum);
    rule.accumulation = Find(accumulation);
    rule.product_rounded = product_rounded;
    rule.quire = quire;
    rule.scaled = scaled;
    rule.parted = parted;
    return rule;
  }
};
std::ostream& operator<<(std::ostream& out, const RuleText& r) {
  return out << r.input << " x " << r.weight << " psum " << r.psum << " accumulation "
             << r.accumulation << (r.product_rounded ? " product rounded" : "")
             << (r.quire ? " quire" : "") << (r.scaled ? " scaled" : "")
             << (r.parted ? " parted" : "");
}

// One product with everything the kernel and the definition need.
struct Problem {
  MacRule rule;
  MacOrder order;
  int64_t columns = 1;
  std::vector<uint32_t> image, weights;  // codes
  std::vector<float> image_scales, weight_scales;
  std::vector<int64_t> places, scale_places;
};

// How operands are drawn. Sums that come close to midpoints need operands of very different
// magnitude.
enum class Draw { kAny, kFinite, kFew, kSmall };

uint32_t DrawCode(const Format& format, Draw draw, Random& random) {
  for (;;) {
    auto code = static_cast<uint32_t>(random()) & CodeMask(format);
    if (draw == Draw::kFew &&
        format.bits > 4) {  // few values: cancellations and exact ties come often
      const uint32_t few[] = {ZeroCode(format),
                              Encode(format, LeastPositive(format)),
                              EncodeFloat(format, 1.0f),
                              EncodeFloat(format, -1.0f),
                              EncodeFloat(format, 1.0625f),
                              code};
      code = few[random.Below(6)];
    }
    if (draw == Draw::kSmall) code = EncodeFloat(format, static_cast<float>(random.Uniform(-2, 2)));
    if (draw == Draw::kAny || Decode(format, code).is_finite()) return code;
  }
}

Problem RandomProblem(const MacRule& rule, Random& random, int64_t macs) {
  Problem problem;
  problem.rule = rule;
  const auto draw = static_cast<Draw>(random.Below(4));
  const int64_t rows = random.Between(1, 40), tiles = random.Between(1, 6);
  problem.columns = random.Between(1, 70);
  const bool scattered = random.Below(3) == 0;
  int64_t offset = random.Between(0, 50);
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t size = random.Below(3) == 0 ? random.Between(1, rows) : rows;
    problem.order.tile_sizes.push_back(size);
    for (int64_t r = 0; r < size; ++r) {
      problem.order.offsets.push_back(offset);
      offset += scattered && random.Below(4) == 0 ? random.Between(-20, 30) : 1;
      offset = std::max<int64_t>(offset, 0);
    }
    if (rule.scaled) problem.order.scale_offsets.push_back(random.Between(0, 9));
  }
  const int64_t elements = std::ssize(problem.order.offsets);
  const int64_t pixels = std::max<int64_t>(
      1, std::min<int64_t>(random.Between(1, 20), macs / (elements * problem.columns)));
  int64_t most = 0;
  for (int64_t o : problem.order.offsets) most = std::max(most, o);
  problem.image.resize(static_cast<size_t>(most + 1 + 200));
  for (uint32_t& code : problem.image) code = DrawCode(rule.input, draw, random);
  problem.weights.resize(static_cast<size_t>(elements * problem.columns));
  for (uint32_t& code : problem.weights) code = DrawCode(rule.weight, draw, random);
  for (int64_t p = 0; p < pixels; ++p) problem.places.push_back(random.Between(0, 200));
  if (rule.scaled) {
    const bool powers = random.Below(2) == 0;
    const auto scale = [&] {
      const auto power = static_cast<float>(std::exp2(random.Between(-20, 20)));
      if (random.Below(50) == 0) return NAN;
      return powers ? power : power * static_cast<float>(random.Uniform(1, 2));
    };
    problem.image_scales.resize(40);
    for (float& s : problem.image_scales) s = scale();
    problem.weight_scales.resize(static_cast<size_t>(tiles * problem.columns));
    for (float& s : problem.weight_scales) s = scale();
    for (int64_t p = 0; p < pixels; ++p) problem.scale_places.push_back(random.Between(0, 30));
  }
  return problem;
}

uint32_t Defined(const Problem& problem, size_t pixel, int64_t column) {
  std::vector<uint32_t> inputs, weights;
  for (size_t r = 0; r < problem.order.offsets.size(); ++r) {
    inputs.push_back(
        problem.image[static_cast<size_t>(problem.places[pixel] + problem.order.offsets[r])]);
    weights.push_back(
        problem.weights[r * static_cast<size_t>(problem.columns) + static_cast<size_t>(column)]);
  }
  std::vector<MacTile> tiles;
  size_t first = 0;
  for (size_t t = 0; t < problem.order.tile_sizes.size(); ++t) {
    const auto size = static_cast<size_t>(problem.order.tile_sizes[t]);
    MacTile tile;
    tile.inputs = {inputs.data() + first, size};
    tile.weights = {weights.data() + first, size};
    if (problem.rule.scaled) {
      const float input = problem.image_scales[static_cast<size_t>(problem.scale_places[pixel] +
                                                                   problem.order.scale_offsets[t])];
      tile.scale = input * problem.weight_scales[t * static_cast<size_t>(problem.columns) +
                                                 static_cast<size_t>(column)];
    }
    tiles.push_back(tile);
    first += size;
  }
  return MultiplyAccumulate(problem.rule, tiles);
}

std::vector<uint8_t> InMemory(const Format& format, const std::vector<uint32_t>& codes) {
  std::vector<uint8_t> bytes(codes.size() * static_cast<size_t>(format.bytes()));
  for (size_t i = 0; i < codes.size(); ++i)
    StoreCode(format, codes[i], static_cast<int64_t>(i), bytes.data());
  return bytes;
}

struct Product {
  std::vector<uint32_t> results;  // [pixel][stride]
  int64_t stride;
};
Product Multiply(const MacKernel& kernel, const Problem& problem) {
  const std::vector<uint8_t> codes = InMemory(problem.rule.input, problem.image);
  const int64_t slack = kMacImageSlack;
  std::vector<uint8_t> operands(
      problem.image.size() * static_cast<size_t>(kernel.operand_bytes()) + slack, 0xa5);
  kernel.StoreOperands(codes.data(), std::ssize(problem.image), operands.data());
  const auto weights = kernel.Pack(problem.order, problem.columns,
                                   InMemory(problem.rule.weight, problem.weights).data(),
                                   problem.rule.scaled ? problem.weight_scales.data() : nullptr);
  Product product;
  product.stride = weights->padded_columns() + 3;
  const auto pixels = std::ssize(problem.places);
  product.results.assign(static_cast<size_t>(pixels * product.stride), 0xdeadbeef);
  ParallelFor(pixels, 7, [&](int64_t begin, int64_t end) {
    weights->Multiply(
        operands.data(), problem.rule.scaled ? problem.image_scales.data() : nullptr,
        {.places = problem.places.data() + begin,
         .scale_places = problem.rule.scaled ? problem.scale_places.data() + begin : nullptr,
         .count = end - begin},
        product.results.data() + begin * product.stride, product.stride);
  });
  return product;
}

void ExpectDefined(const Problem& problem, const std::string& kernel_name,
                   const std::string& what) {
  const auto pixels = problem.places.size();
  std::vector<uint32_t> expected;
  for (size_t p = 0; p < pixels; ++p) {
    for (int64_t n = 0; n < problem.columns; ++n) expected.push_back(Defined(problem, p, n));
  }
  for (CpuLevel level : kCpuLevels) {
    if (level > GetCpuLevel()) continue;
    const auto kernel = MacKernel::Create(level, problem.rule);
    if (!kernel_name.empty()) {
      EXPECT_EQ(kernel->name(), kernel_name) << what;
    }
    const Product product = Multiply(*kernel, problem);
    for (size_t p = 0; p < pixels; ++p) {
      for (int64_t n = 0; n < problem.columns; ++n) {
        const size_t i = p * static_cast<size_t>(problem.columns) + static_cast<size_t>(n);
        const uint32_t result =
            product.results[p * static_cast<size_t>(product.stride) + static_cast<size_t>(n)];
        ASSERT_EQ(result, expected[i])
            << what << ", " << NameOf(level) << ", pixel " << p << " column " << n << " of "
            << problem.columns << ", " << problem.order.offsets.size() << " elements in "
            << problem.order.tile_sizes.size() << " tiles";
      }
      const uint32_t after = product.results[(p + 1) * static_cast<size_t>(product.stride) - 1];
      ASSERT_EQ(after, 0xdeadbeef) << "beyond the padded columns";
    }
  }
}

struct Expectation {
  RuleText rule;
  const char* kernel;
};

class MacGemm : public testing::TestWithParam<Expectation> {};

TEST_P(MacGemm, EqualsTheDefinition) {
  const MacRule rule = GetParam().rule.Rule();
  ASSERT_FALSE(FindMacFault(rule).has_value());
  std::stringstream what;
  what << GetParam().rule;
  Random random(21);
  for (int i = 0; i < 12; ++i) {
    ExpectDefined(RandomProblem(rule, random, 4000), GetParam().kernel, what.str());
    if (HasFatalFailure()) return;
  }
}

const Expectation kExpectations[] = {
    {{"e4m3", "e4m3", "bf16", "bf16"}, "float"},
    {{"e4m3", "e4m3", "bf16", "fp32"}, "float"},
    {{"e4m3", "e4m3", "fp32", "fp32"}, "float"},
    {{"e4m3", "e5m2", "bf16", "bf16", true}, "float"},
    {{"e5m2", "e5m2", "fp16", "fp16"}, "float"},
    {{"e5m2", "e5m2", "fp16", "fp16", true}, "float"},
    {{"e4m3", "e4m3", "fp16", "fp32", false, false, true}, "float"},
    {{"e5m2", "e4m3", "bf16", "bf16", false, false, true}, "float"},
    {{"posit8_1", "posit8_1", "bf16", "bf16"}, "float"},
    {{"posit8_1", "posit8_1", "bf16", "bf16", true}, "float"},
    {{"posit8_1", "posit8_1", "bf16", "bf16", false, false, true}, "float"},
    {{"posit8_1", "e5m2", "bf16", "tf32"}, "float"},
    {{"posit8_0", "posit8_2", "bf16", "fp32"}, "float"},
    {{"posit16_1", "e4m3", "bf16", "bf16"}, "float"},
    {{"fp16", "fp16", "bf16", "bf16"}, "float"},
    {{"e8m2", "e5m2", "bf16", "bf16"}, "float"},
    {{"posit8_1", "posit8_1", "fp32", "bf16"}, "float"},
    {{"posit8_1", "posit8_1", "posit16_1", "posit16_1"}, "table"},
    {{"posit8_1", "posit8_1", "posit16_1", "fp32", true, false, true}, "table"},
    {{"bf16", "bf16", "bf16", "bf16"}, "float"},
    {{"bf16", "bf16", "bf16", "bf16", true}, "float"},
    {{"bf16", "bf16", "fp32", "fp32", true}, "float"},
    {{"bf16", "bf16", "tf32", "tf32"}, "float"},
    {{"bf16", "bf16", "tf32", "fp32", true, false, true}, "float"},
    {{"fp16", "fp16", "fp16", "fp16"}, "float"},
    {{"fp16", "fp16", "fp16", "fp32", true}, "float"},
    {{"fp16", "fp16", "fp32", "fp32"}, "float"},
    {{"fp32", "fp32", "fp32", "fp32"}, "float"},
    {{"fp32", "fp32", "fp32", "fp32", true}, "float"},
    {{"fp32", "fp32", "bf16", "bf16"}, "float"},
    {{"e4m3", "e4m3", "e5m7", "e6m9"}, "float"},
    {{"e5m2", "e5m2", "e5m2.infinity", "e7m12"}, "float"},
    {{"e4m3", "e4m3", "e5m10.saturate", "bf16.toward_zero"}, "table"},
    {{"e4m3", "e4m3", "bf16.down", "bf16.nearest_away"}, "table"},
    {{"e4m3", "e4m3", "bf16.flush", "fp16.flush"}, "table"},
    {{"e4m3_fnuz", "e4m3_fnuz", "e5m2_fnuz", "e5m2"}, "table"},
    {{"nf4", "e4m3", "bf16", "bf16"}, "float"},
    {{"int8", "bf16", "bf16", "bf16"}, "float"},
    {{"int8", "int8", "int32", "int32"}, "integer"},
    {{"int8", "int8", "int16", "int32"}, "integer"},
    {{"int8", "int8", "int16", "int11"}, "integer"},
    {{"int4", "uint8", "int20", "int32"}, "integer"},
    {{"uint8", "uint8", "int12", "int9"}, "integer"},
    {{"int16", "int16", "int32", "int32"}, "integer"},
    {{"int12", "int3", "int9", "int30"}, "integer"},
    {{"uint16", "int8", "int24", "int32"}, "scalar"},
    {{"binary", "ternary", "int8", "int32"}, "integer"},
    {{"fixed8_6", "fixed8_6", "int32", "fp32", false, false, true}, "integer"},
    {{"fixed8_6", "fixed8_6", "int12", "fp32", false, false, true}, "integer"},
    {{"fixed8_6", "fixed8_6", "int32", "bf16", false, false, true}, "integer"},
    {{"fixed8_6", "fixed8_6", "int14", "fp16", false, false, true}, "integer"},
    {{"int16", "int16", "int32", "bf16", false, false, true}, "integer"},
    {{"int16", "int16", "int30", "tf32"}, "integer"},
    {{"binary", "int8", "int32", "posit16_1", false, false, true}, "integer"},
    {{"posit8_1", "posit8_1", "fp32", "fp32", false, true}, "quire"},
    {{"e4m3", "e4m3", "fp32", "fp32", false, true}, "quire"},
    {{"e5m2", "e5m2", "bf16", "bf16", false, true}, "quire"},
    {{"e5m2.infinity", "e3m2", "fp32", "bf16", false, true, true}, "quire"},
    {{"posit8_2", "posit8_0", "fp32", "fp32", false, true, true}, "quire"},
    {{"posit8_2", "posit8_2", "posit16_1", "posit16_1", false, true, true}, "quire"},
    {{"posit8_1", "e4m3", "fp32", "bf16", false, true, false, true}, "quire"},
    {{"posit16_1", "e4m3", "fp32", "fp32", false, true}, "quire"},
    {{"fp16", "fp16", "fp32", "fp32", false, true}, "quire"},
    {{"nf4", "int8", "fp32", "fp32", false, true}, "quire"},
    {{"bf16", "bf16", "fp32", "fp32", false, true}, "scalar"},
    {{"posit32_2", "posit16_2", "fp32", "fp32", false, true, true}, "scalar"},
    {{"e4m3", "e4m3", "fp32.toward_zero", "fp32"}, "scalar"},
    {{"posit32_2", "posit8_1", "posit32_2", "posit32_2"}, "scalar"},
};

INSTANTIATE_TEST_SUITE_P(Rules, MacGemm, testing::ValuesIn(kExpectations));

TEST(MacGemmRules, AnyTwoSmallFormats) {
  const char* operands[] = {"e4m3",      "e5m2",      "e3m2",     "e2m3",      "e2m1",
                            "posit8_1",  "posit8_2",  "posit6_1", "nf4",       "int4",
                            "fixed8_4",  "fp16",      "bf16",     "e4m3_fnuz", "e5m2_fnuz",
                            "e4m3_ieee", "posit16_1", "binary",   "tf32"};
  const char* sums[] = {"bf16", "fp16",          "fp32",      "tf32",         "e6m7",
                        "e4m9", "e5m3.infinity", "posit16_2", "bf16.saturate"};
  Random random(22);
  for (int i = 0; i < 250; ++i) {
    RuleText text{operands[random.Below(std::size(operands))],
                  operands[random.Below(std::size(operands))],
                  sums[random.Below(std::size(sums))],
                  sums[random.Below(std::size(sums))],
                  random.Below(4) == 0,
                  false,
                  random.Below(2) == 0};
    std::stringstream what;
    what << text << " (draw " << i << ")";
    ExpectDefined(RandomProblem(text.Rule(), random, 1500), "", what.str());
    if (HasFatalFailure()) return;
  }
}

// Every product of two codes onto psums from least to great, zeros and specials: where a sum that
// was rounded twice, or a lost grain under a product halfway between two psums, would show.
TEST(MacGemmRules, EveryProductOntoEveryKindOfPsum) {
  const RuleText rules[] = {{"posit8_1", "posit8_1", "bf16", "fp32"},
                            {"e4m3", "e4m3", "bf16", "fp32"},
                            {"e5m2", "e5m2", "fp16", "fp32"},
                            {"posit8_2", "posit8_1", "tf32", "fp32"},
                            {"posit8_1", "posit8_1", "bf16", "fp16"},
                            {"posit8_1", "posit8_1", "bf16", "bf16"},
                            {"posit8_1", "posit8_1", "bf16", "fp32", true}};
  for (const RuleText& text : rules) {
    Problem problem;
    problem.rule = text.Rule();
    const MacRule& rule = problem.rule;
    const uint32_t least = Encode(rule.input, LeastPositive(rule.input));
    const uint32_t first[] = {least,
                              EncodeFloat(rule.input, -ToFloat(LeastPositive(rule.input))),
                              0,
                              EncodeFloat(rule.input, 1.0625f),
                              EncodeFloat(rule.input, -448.0f),
                              0x80};
    const uint32_t first_weights[] = {Encode(rule.weight, LeastPositive(rule.weight)),
                                      EncodeFloat(rule.weight, 1.0625f)};
    problem.columns = 256;
    problem.order.tile_sizes = {2};
    for (const uint32_t first_weight : first_weights) {
      for (const uint32_t start : first) {
        problem.image.clear();
        problem.places.clear();
        for (uint32_t x = 0; x < 256; ++x) {
          problem.image.insert(problem.image.end(), {start, x});
          problem.places.push_back(2 * x);
        }
        problem.order.offsets = {0, 1};
        problem.weights.assign(256, first_weight);
        for (uint32_t w = 0; w < 256; ++w) problem.weights.push_back(w);
        const uint32_t psum = PsumStep(rule, MacZero(rule.psum), start, first_weight);
        std::vector<uint32_t> expected;
        for (uint32_t x = 0; x < 256; ++x) {
          for (uint32_t w = 0; w < 256; ++w) {
            expected.push_back(
                MacResult(rule, AccumulationStep(rule, 0, PsumStep(rule, psum, x, w), 1)));
          }
        }
        for (CpuLevel level : kCpuLevels) {
          if (level > GetCpuLevel()) continue;
          const Product product = Multiply(*MacKernel::Create(level, rule), problem);
          for (size_t x = 0; x < 256; ++x) {
            for (size_t w = 0; w < 256; ++w) {
              ASSERT_EQ(product.results[x * static_cast<size_t>(product.stride) + w],
                        expected[256 * x + w])
                  << text << " " << NameOf(level) << " codes " << x << " " << w << " onto "
                  << start;
            }
          }
        }
      }
    }
  }
}

// The odd sum that fp32 cannot hold among many that it can, in one group of pixels and then in
// another: what a kernel takes for granted of most groups must not spill into this one, nor this
// one into the rest.
TEST(MacGemmRules, OneInexactSumAmongExactOnes) {
  const RuleText text{"posit8_1", "posit8_1", "bf16", "bf16"};
  const MacRule rule = text.Rule();
  const uint32_t one = EncodeFloat(rule.input, 1.0f),
                 least = Encode(rule.input, LeastPositive(rule.input));
  const uint32_t midpoint = EncodeFloat(rule.input, 1.0625f);  // its square has nine bits
  for (const uint32_t grain :
       {least, EncodeFloat(rule.input, -ToFloat(LeastPositive(rule.input)))}) {
    for (const int64_t columns : {16, 40}) {
      for (const int64_t odd_pixel : {0, 12, 13, 40, 99}) {
        Problem problem;
        problem.rule = rule;
        problem.columns = columns;
        problem.order = {.offsets = {0, 1, 2}, .tile_sizes = {2, 1}, .scale_offsets = {}};
        problem.weights.assign(static_cast<size_t>(columns), least);
        problem.weights.resize(static_cast<size_t>(2 * columns), midpoint);
        problem.weights.resize(static_cast<size_t>(3 * columns), ZeroCode(rule.weight));
        for (int64_t p = 0; p < 100; ++p) {
          problem.places.push_back(3 * p);
          const uint32_t first = p == odd_pixel ? grain : ZeroCode(rule.input);
          problem.image.insert(problem.image.end(), {first, p % 3 == 0 ? one : midpoint, one});
        }
        problem.image[static_cast<size_t>(3 * odd_pixel + 1)] = midpoint;
        std::stringstream what;
        what << text << " grain " << grain << " in pixel " << odd_pixel;
        ExpectDefined(problem, "float", what.str());
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(MacGemmRules, ThreadsDoNotMatter) {
  Random random(23);
  for (const RuleText& text :
       {RuleText{"posit8_1", "posit8_1", "bf16", "bf16"},
        RuleText{"fixed8_6", "fixed8_6", "int32", "fp32", false, false, true},
        RuleText{"e4m3", "e4m3", "fp32", "fp32", false, true}}) {
    const Problem problem = RandomProblem(text.Rule(), random, 1 << 20);
    const auto kernel = MacKernel::Create(GetCpuLevel(), problem.rule);
    SetThreadCount(1);
    const Product one = Multiply(*kernel, problem);
    for (int threads : {2, 3, 7}) {
      SetThreadCount(threads);
      EXPECT_EQ(Multiply(*kernel, problem).results, one.results) << text;
    }
    SetThreadCount(0);
  }
}

}  // namespace
}  // namespace kiln
