// Tests of the building blocks of arithmetic. kiln_number_multiply, kiln_number_add and
// kiln_add_to_code are compared with Multiply, Add and Encode over every pair of codes of every
// named format of up to 8 bits, and kiln_integer_operand over every code. kiln_normalise,
// kiln_shift_right_sticky, kiln_round_up and kiln_constant_table are tested over all inputs or over
// inputs that distinguish their cases, kiln_spline_evaluate over every knot.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "Varith_number.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/exact.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/nonlinear.h"
#include "tests/rtl/arith/fp32_values.h"

namespace kiln::rtl {
namespace {

class NumberParts : public testing::Test {
 protected:
  ~NumberParts() override { model_.final(); }
  VerilatedContext context_;
  Varith_number model_{&context_};
};

// A record of number_bench.sv.
class Record {
 public:
  Record(const Varith_number& model, size_t format) : words_(&model.result[8 * format]) {}
  struct Number {
    bool nan, infinite, negative;
    int64_t exponent;
    uint64_t significand;
  };
  Number product() const { return NumberAt(0, 4, 24); }
  Number sum() const { return NumberAt(2, 5, 27); }
  uint32_t code() const { return words_[6] & 0xff; }
  int32_t operand() const { return static_cast<int16_t>(words_[6] >> 8); }

 private:
  Number NumberAt(size_t significand, size_t exponent, unsigned flags) const {
    const uint32_t bits = words_[6] >> flags & 7;
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
            static_cast<int32_t>(words_[exponent]),
            words_[significand] | uint64_t{words_[significand + 1]} << 32};
  }
  const uint32_t* words_;
};

// Whether the RTL's number is this one, as far as a rounding to `bits` significant bits tells:
// those and the half bit are the same, and so is whether anything stands behind them.
bool Same(const Record::Number& got, const Exact& expected, int bits) {
  if (got.nan || expected.is_nan()) return got.nan && expected.is_nan() && !got.infinite;
  if (got.negative != expected.negative) return false;
  if (got.infinite || expected.is_infinite()) return got.infinite && expected.is_infinite();
  if (expected.is_zero()) return got.significand == 0;
  const uint64_t rest = bits >= 63 ? 0 : ~uint64_t{0} >> (bits + 1);
  return got.exponent == expected.exponent &&
         (got.significand & ~rest) == (expected.significand & ~rest) &&
         ((got.significand & rest) != 0) == ((expected.significand & rest) != 0);
}

// The most significant bits that a value of the format has.
int SignificandBits(const std::vector<Exact>& values) {
  int bits = 1;
  for (const Exact& value : values) {
    if (value.is_finite() && !value.is_zero())
      bits = std::max(bits, 64 - std::countr_zero(value.significand));
  }
  return bits;
}

TEST_F(NumberParts, EveryPairOfCodes) {
  struct Unit {
    const Format* format;
    size_t index;
    std::vector<Exact> values;
    int bits;
  };
  std::vector<Unit> units;
  const std::vector<Format>& formats = AllFormats();
  for (size_t i = 0; i < formats.size(); ++i) {
    if (formats[i].bits > 8) continue;
    Unit unit{&formats[i], i, {}, 0};
    for (uint32_t code = 0; code <= CodeMask(formats[i]); ++code)
      unit.values.push_back(Decode(formats[i], code));
    unit.bits = SignificandBits(unit.values);
    units.push_back(std::move(unit));
  }
  ASSERT_GT(units.size(), 30u);
  int failures = 0, codes_compared = 0, operands = 0;
  for (uint32_t codes = 0; codes < 0x10000; ++codes) {
    model_.x = static_cast<uint8_t>(codes);
    model_.w = static_cast<uint8_t>(codes >> 8);
    model_.eval();
    for (const Unit& unit : units) {
      const Format& format = *unit.format;
      const uint32_t x = codes & CodeMask(format), w = codes >> 8 & CodeMask(format);
      if (x != (codes & 0xff) || w != codes >> 8) continue;  // the same pair again
      const Record record(model_, unit.index);
      const Exact &a = unit.values[x], &b = unit.values[w], sum = Add(a, b);
      bool right = Same(record.product(), Multiply(a, b), 64) && Same(record.sum(), sum, unit.bits);
      // Tables are encoded from fp32 only.
      if (format.kind != FormatKind::kCodebook) {
        right = right && record.code() == (Encode(format, sum) & CodeMask(format));
        ++codes_compared;
      }
      if (IsIntegerOperand(format)) {
        right = right && record.operand() == IntegerOperand(format, x);
        ++operands;
      }
      if (right) continue;
      ADD_FAILURE() << format.name << " " << x << " and " << w;
      ASSERT_LT(++failures, 10);
    }
  }
  EXPECT_GT(codes_compared, 500'000);
  EXPECT_GT(operands, 100'000);
}

TEST_F(NumberParts, NormaliseAndShift) {
  for (uint32_t bits = 0; bits < 1u << 13; ++bits) {
    const int zeros = std::countl_zero(bits) - 19, zeros_8 = std::countl_zero(bits & 0xff) - 24;
    for (uint32_t places = 0; places < 16; ++places) {
      model_.bits = static_cast<uint16_t>(bits);
      model_.places = static_cast<uint8_t>(places);
      model_.eval();
      const uint32_t in = bits & 0xff, out = in >> places, lost = (out << places) != in ? 1 : 0;
      ASSERT_EQ(model_.shifted, out | lost) << bits << " by " << places;
    }
    ASSERT_EQ(model_.normalised, bits << zeros & 0x1fff);
    ASSERT_EQ(model_.normalised_8, (bits & 0xff) << zeros_8 & 0xff);
    if (bits != 0) {
      ASSERT_EQ(model_.normalised_places, zeros);
    }
    if ((bits & 0xff) != 0) {
      ASSERT_EQ(model_.normalised_8_places, zeros_8);
    }
  }
}

TEST_F(NumberParts, RoundUp) {
  // In the order of Rounding.
  static_assert(static_cast<int>(Rounding::kNearestEven) == 0 &&
                static_cast<int>(Rounding::kNearestAway) == 1 &&
                static_cast<int>(Rounding::kTowardZero) == 2 &&
                static_cast<int>(Rounding::kDown) == 3 &&
                static_cast<int>(Rounding::kStochastic) == 4);
  constexpr uint64_t kOne = uint64_t{1} << 35, kHalf = kOne / 2;
  Random random(5);
  for (int i = 0; i < 200'000; ++i) {
    uint64_t rest = random() & (kOne - 1);
    const auto near = static_cast<uint64_t>(random.Between(0, 4));
    if (i % 4 == 0)
      rest = (random.Below(2) * kHalf + near - 2) & (kOne - 1);  // next to nothing, a half, one
    const bool negative = random.Below(2) == 0, odd = random.Below(2) == 0;
    auto draw = static_cast<uint32_t>(random());
    if (i % 3 == 0) draw = static_cast<uint32_t>(rest >> 3) + static_cast<uint32_t>(near) - 2;
    model_.rest = rest;
    model_.negative = negative;
    model_.odd = odd;
    model_.random = draw;
    model_.eval();
    const bool up[] = {rest > kHalf || (rest == kHalf && odd), rest >= kHalf, false,
                       negative && rest > 0, draw < rest >> 3};
    for (unsigned rounding = 0; rounding < 5; ++rounding) {
      ASSERT_EQ((model_.up >> rounding & 1) != 0, up[rounding])
          << "rounding " << rounding << " of " << rest;
    }
  }
}

TEST_F(NumberParts, ConstantTable) {
  for (uint32_t index = 0; index < 12; ++index) {
    model_.places = static_cast<uint8_t>(index);
    model_.eval();
    EXPECT_EQ(model_.word, 37 * index);
  }
}

// A spline alone, as nonlinear.h defines it.
float Evaluate(const SplineTables& tables, const Spline& spline, float t) {
  int segment = 0;
  while (segment + 1 < tables.segments && t >= spline.knots[segment + 1]) ++segment;
  return std::fma(std::fma(spline.c2[segment], t, spline.c1[segment]), t, spline.c0[segment]);
}

TEST_F(NumberParts, Splines) {
  const SplineTables& fp32 = **SplineTablesFor(*FindFormat("fp32"));
  const SplineTables& bf16 = **SplineTablesFor(*FindFormat("bf16"));
  Random random(6);
  for (size_t id = 0; id < kSplines; ++id) {
    const auto check = [&](float t) {
      model_.spline = static_cast<uint8_t>(id);
      model_.t = std::bit_cast<uint32_t>(t);
      model_.eval();
      ASSERT_EQ(model_.spline_fp32, Canonical(Evaluate(fp32, fp32.splines[id], t)))
          << fp32.splines[id].name << t;
      ASSERT_EQ(model_.spline_bf16, Canonical(Evaluate(bf16, bf16.splines[id], t)))
          << bf16.splines[id].name << t;
      ASSERT_EQ(model_.in_domain_fp32, t < fp32.splines[id].knots[fp32.segments]) << t;
      ASSERT_EQ(model_.in_domain_bf16, t < bf16.splines[id].knots[bf16.segments]) << t;
    };
    for (const SplineTables* tables : {&fp32, &bf16}) {
      for (const float knot : tables->splines[id].knots) {
        for (uint32_t distance = 0; distance < 9; ++distance) {
          check(std::bit_cast<float>(std::bit_cast<uint32_t>(knot) + distance - 4));
        }
      }
    }
    for (int i = 0; i < 5'000 && !HasFatalFailure(); ++i)
      check(static_cast<float>(random.Uniform(-1, 8)));
  }
}

}  // namespace
}  // namespace kiln::rtl
