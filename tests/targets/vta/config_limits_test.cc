// Ranges of the keys of a VTA design point and of the original's configuration: the last value that
// fits and the first that does not.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fmt/format.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {
namespace {

bool Reads(const std::string& keys) {
  return ParseConfig("family: vta\nname: limits\n" + keys, "limits.yaml").ok();
}

TEST(VtaConfigLimits, KeysHoldTheirEnds) {
  struct Row {
    const char* key;
    int64_t low, high;
  };
  for (const Row& row :
       {Row{"memory_latency", 3, 100000}, Row{"instruction_queue_depth", 2, 65536}}) {
    for (const auto& [value, fits] : {std::pair(row.low - 1, false),
                                      {row.low, true},
                                      {row.low + 1, true},
                                      {row.high - 1, true},
                                      {row.high, true},
                                      {row.high + 1, false}}) {
      EXPECT_EQ(Reads(fmt::format("{}: {}\n", row.key, value)), fits) << row.key << " " << value;
    }
  }
  for (const auto& [clock, fits] :
       {std::pair("0.0009", false), {"0.001", true}, {"100000", true}, {"100000.1", false}}) {
    EXPECT_EQ(Reads(fmt::format("clock_mhz: {}\n", clock)), fits) << clock;
  }
}

TEST(VtaConfigLimits, PowersOfTwoHoldTheirEnds) {
  struct Row {
    const char* key;
    int64_t low, high;
    const char* beside;
  };
  for (const Row& row : {Row{"memory_port_bytes", 8, 128, ""},
                         // Banks are equal parts of 2048 accumulators, 16 at most.
                         Row{"accumulator_banks", 1, 16, ""}}) {
    for (const auto& [value, fits] : {std::pair(row.low / 2, false),
                                      {row.low, true},
                                      {3 * row.low, false},
                                      {row.high / 2, true},
                                      {row.high, true},
                                      {2 * row.high, false}}) {
      EXPECT_EQ(Reads(fmt::format("{}{}: {}\n", row.beside, row.key, value)), fits)
          << row.key << " " << value;
    }
  }
  // Half as wide in half as many bytes: as many elements.
  for (const auto& [bits, fits] : {std::pair(4, true), {3, false}, {0, false}}) {
    EXPECT_EQ(Reads(fmt::format("input_bits: {}\ninput_buffer_bytes: 16384\n", bits)), fits)
        << bits;
  }
  EXPECT_TRUE(Reads("accumulator_bits: 16\naccumulator_buffer_bytes: 65536\n"));
  EXPECT_FALSE(Reads("input_bits: 32\ninput_buffer_bytes: 131072\n"));
  EXPECT_FALSE(Reads("accumulator_bits: 64\naccumulator_buffer_bytes: 262144\n"));
}

// Logarithms of the original.
TEST(VtaConfigLimits, OriginalsKeysHoldTheirEnds) {
  const auto reads = [](const char* key, int value) {
    return ParseOriginalConfig(fmt::format("{{\"{}\": {}}}", key, value), "vta_config.json").ok();
  };
  for (const auto& [value, fits] : {std::pair(-1, false), {3, true}, {5, false}}) {
    EXPECT_EQ(reads("LOG_INP_WIDTH", value), fits) << value;
  }
  for (const auto& [value, fits] : {std::pair(2, false), {5, true}, {6, false}}) {
    EXPECT_EQ(reads("LOG_ACC_WIDTH", value), fits) << value;
  }
  EXPECT_FALSE(reads("LOG_BLOCK", 9));
  EXPECT_FALSE(reads("LOG_BATCH", -1));
  EXPECT_FALSE(reads("LOG_UOP_BUFF_SIZE", 2));
  EXPECT_FALSE(reads("LOG_UOP_BUFF_SIZE", 31));
  EXPECT_TRUE(reads("LOG_UOP_BUFF_SIZE", 15));
}

}  // namespace
}  // namespace kiln::vta
