// Design points of the binary family: what is read, what is refused, and what a program says.

#include "kiln/targets/binary/accelerator.h"

#include <gtest/gtest.h>

#include <string>

#include "gmock/gmock.h"
#include "kiln/targets/registry.h"

namespace kiln::binary {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& keys) {
  const auto config = ParseConfig("family: binary\nname: x\n" + keys, "x.yaml");
  return config.ok() ? "" : std::string(config.status().message());
}

TEST(DesignPoint, PrintsWhatItReads) {
  const auto config =
      ParseConfig("family: binary\nname: x\ncolumns_0: 4\nprediction: predicted\n", "x.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->columns_0, 4);
  EXPECT_EQ(config->prediction, Prediction::kPredicted);
  const auto again = ParseConfig(PrintConfig(*config), "y.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), PrintConfig(*config));
}

TEST(DesignPoint, KeysThatDoNotFitEachOtherAreRefused) {
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_THAT(ErrorOf("channels_0: 40\n"), HasSubstr("not a whole number of beats of 16 bytes"));
  EXPECT_THAT(ErrorOf("channels_1: 20\n"), HasSubstr("a multiple of 8"));
  EXPECT_THAT(ErrorOf("columns_0: 16\nchannels_1: 32\n"), HasSubstr("at most 8"));
  EXPECT_THAT(ErrorOf("prediction: perhaps\n"), HasSubstr("none, exact, predicted"));
  EXPECT_THAT(ErrorOf("group: 7\n"), HasSubstr("group"));
}

TEST(DesignPoint, ThePapersMachineHas176ElementsOf27Products) {
  const Config config;
  int64_t elements = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t products = int64_t{config.tables(i)} * config.group * config.columns(i);
    EXPECT_EQ(products % kElementProducts, 0);
    elements += products / kElementProducts;
  }
  EXPECT_EQ(elements, 176);
  // 1,188 G products of signs and bytes a second at 500 MHz, as the paper prints.
  EXPECT_DOUBLE_EQ(BinaryAccelerator(config).PeakMacsPerCycle() * 0.5, 1188.0);
}

}  // namespace
}  // namespace kiln::binary
