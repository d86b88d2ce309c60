// Tests of measured clocks: the table in the program is the csv's, what lies between two rows has
// the slower one's clock, and delays scale between nodes.
#include "kiln/hardware/clock_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "kiln/hardware/technology.h"
#include "kiln/support/file.h"

namespace kiln::hardware {
namespace {

// Splits a row of the csv, whose fields may be quoted.
std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST(ClockModel, TableIsThatOfTheFile) {
  const StatusOr<std::string> text = ReadFile("technology/osu018/machines.csv");
  ASSERT_TRUE(text.ok()) << text.status();
  size_t rows = 0;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    if (line.starts_with("#") || line.starts_with("design_point,")) continue;
    const std::vector<std::string> fields = FieldsOf(line);
    ASSERT_EQ(fields.size(), 10u) << line;
    const auto clock = FindClock(MeasuredMachines(), fields[1], fields[2]);
    ASSERT_TRUE(clock.has_value()) << line << ": bench/machine_grid --table writes the table anew";
    EXPECT_DOUBLE_EQ(clock->mhz, std::strtod(fields[4].c_str(), nullptr)) << line;
    EXPECT_GT(clock->mhz, 0) << line;
    ++rows;
  }
  EXPECT_EQ(rows, MeasuredMachines().size());
  EXPECT_GT(rows, 0u);
}

// The rows of a made-up table, in no order.
constexpr MeasuredMachine kRows[] = {
    {"kiln_a", "width=4,memory_latency=40,more=1", 120},
    {"kiln_a", "width=4,memory_latency=10,more=1", 100},
    {"kiln_a", "width=8,memory_latency=15,more=1", 1},
    {"kiln_b", "width=4,memory_latency=15,more=1", 2},
    {"kiln_a", "width=4,memory_latency=20,more=1", 90},
    {"kiln_c", "memory=4", 50},
};

double MhzOf(const std::string& top, const std::string& keys) {
  const auto clock = FindClock(kRows, top, keys);
  return clock.has_value() ? clock->mhz : -1;
}

TEST(ClockModel, MeasuredMachinesHaveTheirOwnClock) {
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=10,more=1"), 100);
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=20,more=1"), 90);
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=40,more=1"), 120);
  EXPECT_EQ(MhzOf("kiln_c", "memory=4"), 50);
  EXPECT_TRUE(FindClock(kRows, "kiln_c", "memory=4")->latencies.empty());
  EXPECT_TRUE(FindClock(kRows, "kiln_a", "width=4,memory_latency=20,more=1")->latencies.empty());
}

TEST(ClockModel, LatenciesBetweenTwoHaveTheSlowerClock) {
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=11,more=1"), 90);
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=39,more=1"), 90);
  EXPECT_EQ(FindClock(kRows, "kiln_a", "width=4,memory_latency=11,more=1")->latencies,
            (std::vector<int>{10, 20}));
  EXPECT_EQ(FindClock(kRows, "kiln_a", "width=4,memory_latency=39,more=1")->latencies,
            (std::vector<int>{20, 40}));
}

TEST(ClockModel, OtherMachinesHaveNone) {
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=9,more=1"), -1);
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=41,more=1"), -1);
  EXPECT_EQ(MhzOf("kiln_a", "width=8,memory_latency=16,more=1"), -1);  // one row, not two
  EXPECT_EQ(MhzOf("kiln_a", "width=2,memory_latency=10,more=1"), -1);
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=10,more=2"), -1);
  EXPECT_EQ(MhzOf("kiln_a", "width=4,memory_latency=10"), -1);
  EXPECT_EQ(MhzOf("kiln_d", "width=4,memory_latency=10,more=1"), -1);
  EXPECT_EQ(MhzOf("kiln_c", "memory=8"), -1);
  EXPECT_EQ(MhzOf("", ""), -1);
}

// The polynomials of Stillmaker and Baas, worked out: 97.09 * 1.8^2 - 356.7 * 1.8 + 406.5 = 79.0116
// at 180 nm; -501.6 * 0.9^3 + 1567 * 0.9^2 - 1619 * 0.9 + 566.1 = 12.6036 at 45 nm;
// -28.58 * 0.7^3 + 76.6 * 0.7^2 - 70.26 * 0.7 + 24.69 = 3.23906 at 7 nm.
TEST(ClockModel, DelaysScaleBetweenNodes) {
  EXPECT_NEAR(DelayScale(180, 45), 12.6036 / 79.0116, 1e-6);
  EXPECT_NEAR(DelayScale(180, 7), 3.23906 / 79.0116, 1e-6);
  EXPECT_DOUBLE_EQ(DelayScale(65, 65), 1);
  for (const int node : TechnologyNodes()) EXPECT_GT(DelayScale(180, node), 0) << node;
}

}  // namespace
}  // namespace kiln::hardware
