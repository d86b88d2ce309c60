// Options that commands share: what their texts mean, and the lines about those that mean nothing.
#include "kiln/command/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "kiln/command/checks.h"

namespace kiln::cli {
namespace {

using testing::HasSubstr;

TEST(ParseShape, IsOneToEightSizes) {
  EXPECT_EQ(*ParseShape("7", "--shape"), (Shape{7}));
  EXPECT_EQ(*ParseShape("3x32x31", "--shape"), (Shape{3, 32, 31}));
  EXPECT_EQ(*ParseShape("1x2x3x4x5x6x7x8", "--shape"), (Shape{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const char* wrong : {"", "0", "3x0", "-1", "x3", "3x", "3X4", "3 x 4", "1x2x3x4x5x6x7x8x9",
                            "99999999999999999999"}) {
    EXPECT_THAT(MessageOf(ParseShape(wrong, "--shape").status()),
                HasSubstr("--shape: '" + std::string(wrong) + "' is no shape"));
  }
}

// Parses the arguments of a command with --shape and --count.
struct Call {
  StatusOr<Shapes> shapes = Shapes{};
  std::string fault;
};
Call CallWith(std::vector<std::string> arguments) {
  CLI::App app("test");
  ShapeArguments shapes;
  shapes.Declare(app);
  int64_t count = 0;
  double share = 0;
  app.add_option("--count", count)->check(InRange(2, 9));
  app.add_option("--share", share)->check(RealInRange(0, 0.5));
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return {.shapes = Shapes{}, .fault = error.what()};
  }
  return {.shapes = shapes.Get(), .fault = ""};
}

TEST(ShapeArguments, NamesMayHaveAnEqualsSign) {
  const Call call = CallWith({"--shape", "n=4", "--shape", "a=b=1x3"});
  ASSERT_TRUE(call.shapes.ok()) << call.shapes.status();
  EXPECT_EQ(call.shapes->size(), 2u);
  EXPECT_EQ(call.shapes->at("n"), (Shape{4}));
  EXPECT_EQ(call.shapes->at("a=b"), (Shape{1, 3}));
  EXPECT_THAT(MessageOf(CallWith({"--shape", "n"}).shapes.status()), HasSubstr("names no size"));
  EXPECT_THAT(MessageOf(CallWith({"--shape", "=1"}).shapes.status()), HasSubstr("names no size"));
  EXPECT_THAT(MessageOf(CallWith({"--shape", "n=0"}).shapes.status()), HasSubstr("'0' is no size"));
  EXPECT_THAT(MessageOf(CallWith({"--shape", "n=1", "--shape", "n=2"}).shapes.status()),
              HasSubstr("'n' is given twice"));
}

TEST(Checks, RangesHaveTheirEnds) {
  for (const char* good : {"2", "9", "+3"})
    EXPECT_EQ(CallWith({"--count", good}).fault, "") << good;
  for (const char* bad : {"1", "10", "-2", "99999999999999999999"}) {
    EXPECT_THAT(CallWith({"--count", bad}).fault, HasSubstr("not in range 2 to 9")) << bad;
  }
  EXPECT_THAT(CallWith({"--count", "two"}).fault, HasSubstr("'two' is no whole number; 2 to 9"));
  for (const char* good : {"0", "0.5"}) EXPECT_EQ(CallWith({"--share", good}).fault, "") << good;
  for (const char* bad : {"-0.001", "0.501", "nan"}) {
    EXPECT_THAT(CallWith({"--share", bad}).fault, HasSubstr("not in range 0 to 0.5")) << bad;
  }
}

}  // namespace
}  // namespace kiln::cli
