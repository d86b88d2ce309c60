// Trained thresholds as text: what is read, and what is refused.

#include "kiln/targets/binary/compile/trained_thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/ir/text.h"

namespace kiln::binary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const auto thresholds = ParseThresholds(text, "net.onnx");
  return thresholds.ok() ? "" : std::string(thresholds.status().message());
}

TEST(TrainedThresholds, AreReadByLayerAndTest) {
  const auto thresholds =
      ParseThresholds(R"({"relu": {"1": [0.25, -3], "7": [1e-3, 2]}, "other": {}})", "net.onnx");
  ASSERT_TRUE(thresholds.ok()) << thresholds.status();
  ASSERT_EQ(thresholds->size(), 1u);
  const LayerThresholds& relu = thresholds->at("relu");
  ASSERT_EQ(relu.size(), 2u);
  EXPECT_THAT(relu.at(1), ElementsAre(0.25, -3));
  EXPECT_THAT(relu.at(7), ElementsAre(1e-3, 2));
}

// Text keeps every bit of a value.
TEST(TrainedThresholds, SurviveARoundTrip) {
  const TrainedThresholds thresholds = {
      {"a \"quoted\" name", {{1, {1.0 / 3, -0.0, 5e-324}}, {63, {1e300, -1e300, 0.1}}}},
      {"b", {{2, {std::nextafter(1.0, 2.0)}}}}};
  const auto printed = PrintThresholds(thresholds);
  ASSERT_TRUE(printed.ok()) << printed.status();
  const auto again = ParseThresholds(*printed, "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, thresholds);
  EXPECT_TRUE(std::signbit(again->at("a \"quoted\" name").at(1)[1]));
}

// JSON holds UTF-8 alone, and names of layers are any bytes.
TEST(TrainedThresholds, NamesThatAreNotUtf8AreRefused) {
  const auto printed = PrintThresholds({{"fine", {{1, {1}}}}, {"r\xff", {{1, {1}}}}});
  EXPECT_THAT(printed.status().message(), HasSubstr("has a name that is not UTF-8"));
}

TEST(TrainedThresholds, OtherTextIsRefused) {
  EXPECT_THAT(ErrorOf("{\"a\": {\"1\": [], \"01\": [2]}}"),
              HasSubstr("has the test after 1 step twice"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("net.onnx: is no object of layers"));
  EXPECT_THAT(ErrorOf("{\"a\": 1}"), HasSubstr("layer 'a': is no object of tests"));
  EXPECT_THAT(ErrorOf("{\"a\": {\"x\": []}}"),
              HasSubstr("the key 'x' is no number of steps; a whole number from 1 to 63"));
  for (const char* key : {"0", "64", "-1", "1.5", "", " 1", "99999999999999999999"}) {
    EXPECT_THAT(ErrorOf("{\"a\": {\"" + std::string(key) + "\": [1]}}"),
                HasSubstr("is no number of steps"))
        << key;
  }
  EXPECT_THAT(ErrorOf("{\"a\": {\"1\": 2}}"), HasSubstr("layer 'a': a test has no list"));
  EXPECT_THAT(ErrorOf("{\"a\": {\"1\": [\"2\"]}}"), HasSubstr("is no finite number"));
  EXPECT_THAT(ErrorOf("{\"a\": {\"1\": [1], \"01\": [2]}}"),
              HasSubstr("has the test after 1 step twice"));
  EXPECT_THAT(ErrorOf("{\"a\""), HasSubstr("net.onnx"));
}

// A network has a place for every threshold.
TEST(TrainedThresholds, BelongToTheNetwork) {
  auto graph = ParseGraph(
      "graph \"net\" { input %x : f32[1x2x3]\n%r = relu %x \"relu\" : f32[1x2x3]\noutput %r }",
      "net.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto with = [&](const std::string& text) {
    graph->metadata()[std::string(kThresholdsMetadataKey)] = text;
    return ThresholdsOf(*graph);
  };
  EXPECT_TRUE(ThresholdsOf(*graph)->empty());
  const auto fits = with("{\"r\": {\"1\": [1, 2, 3]}}");
  ASSERT_TRUE(fits.ok()) << fits.status();
  EXPECT_THAT(fits->at("r").at(1), ElementsAre(1, 2, 3));
  EXPECT_THAT(with("{\"r\": {\"1\": [1, 2]}}").status().message(),
              HasSubstr("net.kir: metadata 'kiln.binary.thresholds': layer 'r': has 2 thresholds "
                        "after 1 step; 3, one for each channel"));
  EXPECT_THAT(with("{\"s\": {}, \"r\": {\"1\": [1, 2, 3]}, \"t\": {\"2\": []}}").status().message(),
              HasSubstr("layer 't': is no value of the network"));
}

}  // namespace
}  // namespace kiln::binary
