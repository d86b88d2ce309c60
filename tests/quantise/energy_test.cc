// Tests of the bits per element of types with block scales.
#include "kiln/quantise/energy.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Energy, BitsHoldTheirShareOfTheScale) {
  EXPECT_EQ(BitsOf(*FindQuantType("int8")), 8);
  EXPECT_EQ(BitsOf(*FindQuantType("mxint8")), 8.25);
  EXPECT_EQ(BitsOf(*FindQuantType("mxfp4")), 4.25);
}

}  // namespace
}  // namespace kiln
