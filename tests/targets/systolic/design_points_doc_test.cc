// docs/systolic-design-points.md says of every key what the parser does: its name, its range, its default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "fmt/format.h"
#include "kiln/support/file.h"
#include "kiln/targets/systolic/config.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

struct Row {
  std::string key, values, by_default;
};

// Rows "| `key` | unit | values | default | what it is |".
std::vector<Row> RowsOfPage() {
  const auto page = ReadFile("docs/systolic-design-points.md");
  EXPECT_TRUE(page.ok()) << "run from the source folder";
  std::vector<Row> rows;
  std::istringstream lines(page.value_or(""));
  const std::regex row(R"(\| `(\w+)` \|([^|]*)\| ([^|]+) \| ([^|]+) \|.*)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, row)) rows.push_back({found[1], found[3], found[4]});
  }
  return rows;
}

// The keys that every design point has, and others.
std::string DesignPoint(const std::map<std::string, std::string>& more) {
  std::map<std::string, std::string> keys = {
      {"family", "systolic"}, {"name", "small"}, {"array_rows", "16"}, {"array_columns", "16"}};
  for (const auto& [key, value] : more) keys[key] = value;
  std::string text;
  for (const auto& [key, value] : keys) text += fmt::format("{}: {}\n", key, value);
  return text;
}

std::string ErrorOf(const std::string& yaml) {
  const auto config = ParseConfig(yaml, "net.yaml");
  return config.ok() ? "no error" : MessageOf(config.status());
}

TEST(SystolicDesignPointsPage, HasTheParsersKeys) {
  std::multiset<std::string> listed;
  for (const Row& row : RowsOfPage()) listed.insert(row.key);
  // What the parser answers to a key that is like none of its own.
  const std::string error = ErrorOf(DesignPoint({{"something_of_nobody", "1"}}));
  const std::string before = "unknown key; one of: ";
  const size_t at = error.find(before);
  ASSERT_NE(at, std::string::npos) << error;
  std::multiset<std::string> known;
  const std::regex name(R"(\w+)");
  const std::string names = error.substr(at + before.size());
  for (std::sregex_iterator it(names.begin(), names.end(), name); it != std::sregex_iterator();
       ++it) {
    known.insert(it->str());
  }
  EXPECT_GE(known.size(), 30u);
  EXPECT_EQ(listed, known);
}

TEST(SystolicDesignPointsPage, RangesAreTheParsers) {
  const std::regex range(R"(([0-9.]+) to ([0-9.]+).*)");
  int ranges = 0;
  for (const Row& row : RowsOfPage()) {
    std::smatch found;
    if (!std::regex_match(row.values, found, range)) continue;
    ++ranges;
    const std::string error = ErrorOf(DesignPoint({{row.key, "2000000000000"}}));
    EXPECT_THAT(error, HasSubstr(fmt::format("key '{}'", row.key)));
    EXPECT_THAT(error,
                HasSubstr(fmt::format("number from {} to {}", found[1].str(), found[2].str())));
  }
  EXPECT_GE(ranges, 20);
}

TEST(SystolicDesignPointsPage, DefaultsAreTheParsers) {
  const auto config = ParseConfig(DesignPoint({}), "small.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string printed = "\n" + PrintConfig(*config);
  for (const Row& row : RowsOfPage()) {
    if (row.by_default == "required") {
      std::string yaml = DesignPoint({});
      const size_t at = yaml.find(row.key + ":");
      ASSERT_NE(at, std::string::npos) << row.key;
      yaml.erase(at, yaml.find('\n', at) + 1 - at);
      EXPECT_THAT(ErrorOf(yaml), HasSubstr(fmt::format("key '{}'", row.key)));
      continue;
    }
    if (row.key == "other_precisions") {  // printed where there are any
      EXPECT_EQ(row.by_default, "none");
      EXPECT_TRUE(config->other_precisions.empty());
      continue;
    }
    const bool all = row.by_default == "all";
    const std::string value = all ? "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]" : row.by_default;
    EXPECT_THAT(printed, HasSubstr(fmt::format("\n{}: {}\n", row.key, value)));
  }
}

}  // namespace
}  // namespace kiln::systolic
