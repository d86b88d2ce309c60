// Tests of measured clocks: the table in the program is the csv's, and delays scale between nodes.
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
  const StatusOr<std::string> text = ReadFile("technology/osu018/clocks.csv");
  ASSERT_TRUE(text.ok()) << text.status();
  size_t rows = 0;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    if (line.starts_with("#") || line.starts_with("module,")) continue;
    const std::vector<std::string> fields = FieldsOf(line);
    ASSERT_EQ(fields.size(), 6u) << line;
    const std::optional<double> mhz = MeasuredMhz(fields[0], fields[1]);
    ASSERT_TRUE(mhz.has_value()) << line << ": bench/clock_grid --table writes the table anew";
    EXPECT_DOUBLE_EQ(*mhz, std::strtod(fields[2].c_str(), nullptr)) << line;
    EXPECT_GT(*mhz, 0) << line;
    ++rows;
  }
  EXPECT_EQ(rows, MeasuredClocks().size());
  EXPECT_GT(rows, 0u);
}

TEST(ClockModel, OnlyMeasuredParametersHaveAClock) {
  ASSERT_FALSE(MeasuredClocks().empty());
  const MeasuredClock& row = MeasuredClocks().front();
  EXPECT_TRUE(MeasuredMhz(row.module, row.parameters).has_value());
  EXPECT_FALSE(MeasuredMhz(row.module, std::string(row.parameters) + ",MORE=1").has_value());
  EXPECT_FALSE(MeasuredMhz("kiln_nothing", row.parameters).has_value());
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
