// Signs behind sums, as thresholds or products, and as tables.
#include <gtest/gtest.h>

#include "kiln/targets/dataflow/accelerator.h"
#include "tests/targets/lower/sign_network.h"

namespace kiln::dataflow {
namespace {

using First = SignNetwork::First;

Config ConfigWith(int threshold_bits) {
  Config config;
  config.name = "device";
  config.threshold_bits = threshold_bits;
  return config;
}

TEST(DataflowSign, IsAThresholdBehindSums) {
  ExpectPlainSigns(DataflowAccelerator(ConfigWith(4)), First::kConvolution, "");
}

TEST(DataflowSign, IsAProductWithoutThresholds) {
  ExpectPlainSigns(DataflowAccelerator(ConfigWith(0)), First::kConvolution, "");
}

TEST(DataflowSign, IsATableOfCodes) {
  ExpectPlainSigns(DataflowAccelerator(ConfigWith(4)), First::kSignOfCodes, "");
}

TEST(DataflowSign, OfNumbersThatAreNotCodesIsOnTheHost) {
  ExpectPlainSigns(DataflowAccelerator(ConfigWith(4)), First::kSignOfNumbers,
                   "sign0: 'x' is not quantised; it moves 'h0', which is on the host\n");
}

TEST(DataflowSign, FollowsTheRoundingsOfTheNetwork) {
  ExpectSignsOfRoundedSums(DataflowAccelerator(ConfigWith(4)));
}

}  // namespace
}  // namespace kiln::dataflow
