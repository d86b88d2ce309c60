// Tests of measured clocks: the table in the program is the csv's, what is between two of its rows
// has the slower one's clock, and delays scale between nodes.
#include "kiln/hardware/clock_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
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
    const std::optional<double> mhz = MeasuredMhz(fields[1], fields[2]);
    ASSERT_TRUE(mhz.has_value()) << line << ": bench/machine_grid --table writes the table anew";
    EXPECT_DOUBLE_EQ(*mhz, std::strtod(fields[4].c_str(), nullptr)) << line;
    EXPECT_GT(*mhz, 0) << line;
    ++rows;
  }
  EXPECT_EQ(rows, MeasuredMachines().size());
  EXPECT_GT(rows, 0u);
}

// Of the table's own rows: a machine whose memory_latency lies between two that were measured has
// the slower one's clock; one beyond them, or with another key, has none.
TEST(ClockModel, LatenciesBetweenMeasuredOnesHaveTheSlowerClock) {
  const std::string key = ",memory_latency=";
  // Two rows that differ in nothing else.
  const auto others = [&](const MeasuredMachine& row) {
    std::string keys = row.keys;
    const size_t at = keys.find(key);
    return at == std::string::npos ? "" : keys.erase(at, keys.find(',', at + 1) - at);
  };
  const auto with = [&](const std::string& keys, const std::string& value) {
    const size_t begin = keys.find(key) + key.size();
    return std::string(keys).replace(begin, keys.find(',', begin) - begin, value);
  };
  int pairs = 0;
  for (const MeasuredMachine& a : MeasuredMachines()) {
    for (const MeasuredMachine& b : MeasuredMachines()) {
      if (others(a).empty() || others(a) != others(b)) continue;
      const auto latency = [&](const MeasuredMachine& row) {
        return std::atoi(row.keys + std::string(row.keys).find(key) + key.size());
      };
      if (latency(a) >= latency(b)) continue;
      ++pairs;
      const std::string between = std::to_string(latency(a) + 1);
      EXPECT_DOUBLE_EQ(*MeasuredMhz(a.top, with(a.keys, between)), std::min(a.mhz, b.mhz));
      const std::string beyond = std::to_string(latency(b) + 1);
      EXPECT_FALSE(MeasuredMhz(a.top, with(a.keys, beyond)).has_value());
      EXPECT_FALSE(MeasuredMhz(a.top, with(a.keys, "1")).has_value());
      EXPECT_FALSE(MeasuredMhz(a.top, with(a.keys, between) + ",more=1").has_value());
      EXPECT_FALSE(MeasuredMhz("kiln_nothing", with(a.keys, between)).has_value());
    }
  }
  EXPECT_GT(pairs, 0);
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
