// Ranges of the keys of a design point: the last value that fits and the first that does not, as
// docs/systolic-design-points.md states them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fmt/format.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {
namespace {

bool Reads(const std::string& keys) {
  const std::string base = "family: systolic\nname: limits\n";
  const bool has_rows = keys.find("array_rows:") != std::string::npos;
  const bool has_columns = keys.find("array_columns:") != std::string::npos;
  return ParseConfig(base + (has_rows ? "" : "array_rows: 8\n") +
                         (has_columns ? "" : "array_columns: 8\n") + keys,
                     "limits.yaml")
      .ok();
}

TEST(SystolicConfigLimits, KeysHoldTheirEnds) {
  struct Row {
    const char* key;
    int64_t low, high;
  };
  constexpr int64_t kWords = 1048576;
  for (const Row& row :
       {Row{"input_buffer_words", 1, kWords},
        Row{"weight_buffer_words", 8, kWords},  // a tile of 8 rows
        Row{"accumulation_buffer_words", 1, kWords}, Row{"accumulation_buffer_banks", 1, 2},
        Row{"parameter_buffer_words", 1, kWords}, Row{"vector_stages", 1, 12},
        Row{"vector_stage_latency", 1, 64}, Row{"vector_row_buffer_words", 1, kWords},
        Row{"vector_rows_in_flight", 1, 1024},
        Row{"operand_buffer_words", 4, 250},  // and 6 cycles of conversion and stage
        Row{"depthwise_multipliers", 0, 256}, Row{"depthwise_buffer_words", 1, kWords},
        Row{"memory_latency", 4, 4096}, Row{"memory_bytes", 4096, int64_t{1} << 32},
        Row{"command_queue_depth", 1, 32}}) {
    for (const auto& [value, fits] : {std::pair(row.low - 1, false),
                                      {row.low, true},
                                      {row.low + 1, true},
                                      {row.high - 1, true},
                                      {row.high, true},
                                      {row.high + 1, false}}) {
      EXPECT_EQ(Reads(fmt::format("{}: {}\n", row.key, value)), fits) << row.key << " " << value;
    }
  }
}

// Powers of two: the neighbours of the ends are none.
TEST(SystolicConfigLimits, PowersOfTwoHoldTheirEnds) {
  struct Row {
    const char* key;
    int64_t low, high;
    const char* beside;
  };
  for (const Row& row :
       {Row{"array_rows", 1, 256, ""}, Row{"array_columns", 1, 256, ""},
        Row{"input_port_bytes", 8, 128, ""}, Row{"weight_port_bytes", 8, 128, ""},
        Row{"operand_port_bytes", 8, 128, ""}, Row{"output_port_bytes", 8, 128, ""},
        Row{"instruction_bytes_per_cycle", 8, 128, ""},
        Row{"depthwise_words_per_cycle", 1, 16, "input_port_bytes: 128\n"}}) {
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
}

TEST(SystolicConfigLimits, KeysThatDependOnOthers) {
  // Divisors of array_rows.
  for (const auto& [rows, fits] :
       {std::pair(0, false), {1, true}, {3, false}, {4, true}, {8, true}, {16, false}}) {
    EXPECT_EQ(Reads(fmt::format("weight_rows_per_cycle: {}\n", rows)), fits) << rows;
  }
  // Eight codes of a byte a word: two fit a port of 16 bytes, four do not.
  for (const auto& [words, fits] : {std::pair(1, true), {2, true}, {4, false}}) {
    EXPECT_EQ(Reads(fmt::format("input_port_bytes: 16\ndepthwise_words_per_cycle: {}\n", words)),
              fits)
        << words;
  }
  // A shared bus takes one cycle more, which memory_latency includes.
  EXPECT_FALSE(Reads("shared_bus: true\nmemory_latency: 4\n"));
  EXPECT_TRUE(Reads("shared_bus: true\nmemory_latency: 5\n"));
  // Multiples of array_rows up to 4096.
  const std::string scaled = "input_format: e4m3\nweight_format: e4m3\n";
  for (const auto& [size, fits] : {std::pair(0, true),
                                   {4, false},
                                   {8, true},
                                   {12, false},
                                   {16, true},
                                   {4096, true},
                                   {4104, false},
                                   {8192, false}}) {
    EXPECT_EQ(Reads(scaled + fmt::format("block_size: {}\n", size)), fits) << size;
  }
  // Stages that there are.
  EXPECT_TRUE(Reads("vector_stages: 3\nvector_function_stages: [0, 2]\n"));
  EXPECT_FALSE(Reads("vector_stages: 3\nvector_function_stages: [3]\n"));
  EXPECT_FALSE(Reads("vector_stages: 3\nvector_divide_stages: [1, 1]\n"));
  // Three pairs beside the first.
  std::string pairs = "other_precisions:\n";
  for (const char* pair : {"{input: e4m3, weight: int8}", "{input: e5m2, weight: int8}",
                           "{input: nf4, weight: int8}"}) {
    pairs += fmt::format("  - {}\n", pair);
  }
  EXPECT_TRUE(Reads(pairs));
  EXPECT_FALSE(Reads(pairs + "  - {input: int4, weight: int8}\n"));
  for (const auto& [clock, fits] :
       {std::pair("0.0009", false), {"0.001", true}, {"100000", true}, {"100000.1", false}}) {
    EXPECT_EQ(Reads(fmt::format("clock_mhz: {}\n", clock)), fits) << clock;
  }
}

}  // namespace
}  // namespace kiln::systolic
