// Compares the codes of constants with what the quantiser of whole tensors gives them, and with
// values by hand.
#include "kiln/targets/lower/value_codes.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "kiln/execute/codes.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

TEST(NearestCode, IsTheCodeOfTheHostsQuantiser) {
  Random random(5);
  for (int trial = 0; trial < 200; ++trial) {
    ValueCodes codes;
    codes.scale = std::ldexp(1.0f + static_cast<float>(random.Below(1000)) / 1000,
                             static_cast<int>(random.Between(-12, 4)));
    codes.zero = static_cast<int32_t>(random.Between(-20, 20));
    Quantisation q{.type = {*FindFormat("int8"), Scheme::kPerTensor, false, 0}};
    q.scales = {static_cast<float>(codes.scale)};
    q.zero_points = {codes.zero};
    Tensor values(ElementType::kFloat32, {300});
    for (int i = 0; i < 300; ++i) {
      // Multiples of half a code: ties, and their neighbours in binary32.
      float x = static_cast<float>(i - 150) * 0.5f * static_cast<float>(codes.scale);
      const uint64_t side = random.Below(3);
      if (side > 0) x = std::nextafter(x, side == 1 ? -1e30f : 1e30f);
      values.data<float>()[static_cast<size_t>(i)] = x;
    }
    const Tensor expected = QuantiseTensor(values, q);
    for (int i = 0; i < 300; ++i) {
      const float x = values.data<float>()[static_cast<size_t>(i)];
      ASSERT_EQ(NearestCode(x, codes), expected.IntAt(i)) << x << " by " << codes.scale;
    }
  }
}

TEST(NearestCode, HoldsWhatIsNoNumberAndWhatIsTooLarge) {
  const ValueCodes codes = {.scale = 0.5, .zero = 3, .low = -100, .high = 90};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(NearestCode(kInfinity, codes), 90);
  EXPECT_EQ(NearestCode(-kInfinity, codes), -100);
  EXPECT_EQ(NearestCode(1e30, codes), 90);
  EXPECT_EQ(NearestCode(std::nan(""), codes), 3);
  EXPECT_EQ(NearestCode(0.25, codes), 3);   // a tie goes to the even multiple, 0
  EXPECT_EQ(NearestCode(0.75, codes), 5);   // to 2
  EXPECT_EQ(NearestCode(-1.25, codes), 1);  // to -2
}

}  // namespace
}  // namespace kiln
