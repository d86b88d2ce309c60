// RandomTensor: bounds, whole numbers, and one sequence of numbers for all element types.

#include "kiln/ir/random_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/ir/element_type.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr double kLow = -7.5;
constexpr double kHigh = 7.5;
const Shape kShape = {3, 50};

// Returns the draws that a tensor of kShape takes, as std::uniform_real_distribution defines them:
// low + (high - low) * u.
std::vector<double> Draws(uint64_t seed) {
  Random random(seed);
  std::vector<double> out;
  for (int i = 0; i < 150; ++i) out.push_back(kLow + (kHigh - kLow) * random.Uniform());
  return out;
}

template <typename T>
void ExpectFloors(ElementType type) {
  Random random(7);
  const Tensor tensor = RandomTensor(random, type, kShape, kLow, kHigh);
  ASSERT_EQ(tensor.shape(), kShape);
  ASSERT_EQ(tensor.type(), type);
  const std::vector<double> draws = Draws(7);
  for (size_t i = 0; i < draws.size(); ++i) {
    EXPECT_EQ(static_cast<int64_t>(tensor.data<T>()[i]), static_cast<int64_t>(std::floor(draws[i])))
        << i;
  }
}

TEST(RandomTensor, RoundsIntegersDownFromTheSameDraws) {
  ExpectFloors<int8_t>(ElementType::kInt8);
  ExpectFloors<int16_t>(ElementType::kInt16);
  ExpectFloors<int32_t>(ElementType::kInt32);
  ExpectFloors<int64_t>(ElementType::kInt64);
}

TEST(RandomTensor, RoundsFloatsToNearestFromTheSameDraws) {
  const std::vector<double> draws = Draws(7);
  Random single_random(7);
  Random half_random(7);
  Random bfloat_random(7);
  const Tensor single = RandomTensor(single_random, ElementType::kFloat32, kShape, kLow, kHigh);
  const Tensor half = RandomTensor(half_random, ElementType::kFloat16, kShape, kLow, kHigh);
  const Tensor bfloat = RandomTensor(bfloat_random, ElementType::kBfloat16, kShape, kLow, kHigh);
  for (size_t i = 0; i < draws.size(); ++i) {
    EXPECT_EQ(single.data<float>()[i], static_cast<float>(draws[i]));
    // Half an LSB of 11 and of 8 significant bits below 8.
    EXPECT_NEAR(HalfToFloat(half.data<uint16_t>()[i]), draws[i], 0.001953125);
    EXPECT_NEAR(Bfloat16ToFloat(bfloat.data<uint16_t>()[i]), draws[i], 0.015625);
  }
}

TEST(RandomTensor, StaysWithinBoundsOfUnsignedTypesAndBool) {
  Random random(3);
  const Tensor bytes = RandomTensor(random, ElementType::kUint8, {1000}, 0, 4);
  std::vector<int> seen(4);
  for (const uint8_t x : bytes.data<uint8_t>()) {
    ASSERT_LT(x, 4);
    ++seen[x];
  }
  for (const int count : seen) EXPECT_GT(count, 150);  // 250 expected, 7 standard deviations
  const Tensor bits = RandomTensor(random, ElementType::kBool, {1000}, 0, 2);
  int ones = 0;
  for (const bool x : bits.data<bool>()) ones += x ? 1 : 0;
  EXPECT_GT(ones, 400);
  EXPECT_LT(ones, 600);
}

TEST(RandomTensor, StringsTakeNoDraws) {
  Random random(3);
  Random untouched(3);
  EXPECT_EQ(RandomTensor(random, ElementType::kString, {5}, 0, 1).size(), 5);
  EXPECT_EQ(random.Uniform(0, 1), untouched.Uniform(0, 1));
}

}  // namespace
}  // namespace kiln
