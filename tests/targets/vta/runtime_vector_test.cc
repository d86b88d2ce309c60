#include "kiln/targets/vta/runtime/runtime_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/test_data.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// Calls with the instruction streams that the original's runtime made of them.
TEST(VtaRuntimeVectors, OfTheOriginalReplay) {
  const fs::path folder = TestData("vta/runtime_api");
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    auto vector = ReadRuntimeVector(entry.path());
    ASSERT_TRUE(vector.ok()) << vector.status();
    for (const char* device : {"functional", "cycle"}) {
      const auto difference = Replay(*vector, device);
      ASSERT_TRUE(difference.ok()) << difference.status();
      EXPECT_EQ(difference->value_or(""), "") << entry.path() << " on " << device;
    }
    ++count;
    // What the vector expects is looked at.
    vector->launches[0].instructions[1][0] ^= 1;
    EXPECT_THAT(
        (*Replay(*vector, "functional")).value_or(""),
        testing::ContainsRegex("^launch 0: instruction 1 is [0-9a-f]{32}; the vector has .{32}$"));
    vector->launches[0].instructions[1][0] ^= 1;
    vector->launches[0].uop_loads[0].words[0] ^= 1;
    EXPECT_THAT(
        (*Replay(*vector, "functional")).value_or(""),
        testing::ContainsRegex(
            "^launch 0: micro-op 0 at 0x1000 is 0x[0-9a-f]{8}; the vector has 0x[0-9a-f]{8}$"));
    vector->launches[0].uop_loads[0].words[0] ^= 1;
    vector->final.begin()->second[3] ^= 1;
    EXPECT_THAT((*Replay(*vector, "functional")).value_or(""),
                testing::ContainsRegex(
                    "^byte 3 of buffer .* is 0x[0-9a-f]{2}; the vector has 0x[0-9a-f]{2}$"));
  }
  EXPECT_EQ(count, 2);
}

// What a vector expects is not passed over because it is of another kind.
TEST(VtaRuntimeVectors, ErrorsNameTheKey) {
  const Json right = *ParseJson(
      R"({"format": "vta-rtapi-1", "name": "x", "config": {}, "calls": [], "launches": [], )"
      R"("buffers": {}, "final": {}})",
      "x.json");
  ASSERT_TRUE(ParseRuntimeVector(right, "x.json").ok());
  for (const char* key : {"buffers", "final"}) {
    Json wrong = right;
    wrong[key] = Json::array();
    EXPECT_THAT(MessageOf(ParseRuntimeVector(wrong, "x.json").status()),
                testing::HasSubstr(std::string("x.json: key '") + key + "': is no object"));
  }
  Json missing = right;
  missing.erase("final");
  EXPECT_THAT(MessageOf(ParseRuntimeVector(missing, "x.json").status()),
              testing::HasSubstr("key 'final': is missing"));
}

}  // namespace
}  // namespace kiln::vta
