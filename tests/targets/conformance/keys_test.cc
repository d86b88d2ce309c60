// What families say of the keys of their design points: docs/FAMILY-design-points.md is generated
// from it, and the parser agrees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "fmt/format.h"
#include "kiln/hardware/key_table.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/registry.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln::conformance {
namespace {

using testing::HasSubstr;

// A design point of the family as it is printed: lines "key: value", by key. Keys whose values take
// several lines are left out.
std::map<std::string, std::string> PrintedKeys(const Family& family) {
  const auto accelerator = LoadAccelerator(family.design_points.front().file);
  EXPECT_TRUE(accelerator.ok()) << accelerator.status();
  std::map<std::string, std::string> keys;
  if (!accelerator.ok()) return keys;
  std::istringstream lines((*accelerator)->Describe());
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (!line.starts_with(' ') && colon != std::string::npos)
      keys[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return keys;
}

std::string Yaml(const std::map<std::string, std::string>& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text += fmt::format("{}: {}\n", key, value);
  return text;
}

std::string ErrorOf(const std::map<std::string, std::string>& keys) {
  const auto accelerator = ParseAccelerator(Yaml(keys), "net.yaml");
  return accelerator.ok() ? "no error" : MessageOf(accelerator.status());
}

std::vector<hardware::KeyDescription> RowsOf(const Family& family) {
  const auto keys = DescribeKeys(family.name);
  EXPECT_TRUE(keys.ok()) << keys.status();
  return keys.ok() ? keys->keys : std::vector<hardware::KeyDescription>();
}

// A file with a hole, which takes no room; the second is refused before it is read.
TEST(Keys, AFileOfThemHasABudget) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-keys");
  const std::string path = (folder.path() / "long.yaml").string();
  const auto error = [&](int64_t bytes) {
    EXPECT_TRUE(WriteFile(path, "").ok());
    std::filesystem::resize_file(path, static_cast<uintmax_t>(bytes));
    return MessageOf(LoadAccelerator(path).status());
  };
  EXPECT_THAT(error(budgets::kYamlBytes), testing::Not(HasSubstr("too many")));
  EXPECT_EQ(error(budgets::kYamlBytes + 1),
            path + ": 1048577 bytes are too many; at most 1048576 bytes are read");
}

TEST(Keys, PagesAreGenerated) {
  for (const std::string& family : FamilyNames()) {
    const auto keys = DescribeKeys(family);
    ASSERT_TRUE(keys.ok()) << keys.status();
    if (!std::filesystem::exists("src/kiln/targets/" + family)) continue;  // a family of tests
    const std::string page = fmt::format("docs/{}-design-points.md", family);
    EXPECT_EQ(ReadFile(page).value_or(""), MarkdownPage(*keys))
        << "write it again: kiln list keys " << family << " --markdown > " << page;
  }
}

TEST(Keys, AreTheParsers) {
  for (const Family& family : Families()) {
    std::map<std::string, std::string> keys = PrintedKeys(family);
    keys["something_of_nobody"] = "1";
    const std::string error = ErrorOf(keys), before = "unknown key; one of: ";
    const size_t at = error.find(before);
    ASSERT_NE(at, std::string::npos) << error;
    std::multiset<std::string> known, described;
    std::istringstream names(error.substr(at + before.size()));
    for (std::string name; names >> name;) known.insert(name.substr(0, name.find(',')));
    for (const auto& row : RowsOf(family)) described.insert(row.name);
    EXPECT_GT(known.size(), 2u);
    EXPECT_EQ(known, described);
  }
}

TEST(Keys, RangesAreTheParsers) {
  const std::regex range(R"(([0-9.]+) to ([0-9.]+).*)");
  for (const Family& family : Families()) {
    int ranges = 0;
    for (const auto& row : RowsOf(family)) {
      std::smatch found;
      if (!std::regex_match(row.values, found, range)) continue;
      ++ranges;
      std::map<std::string, std::string> keys = PrintedKeys(family);
      keys[row.name] = "2000000000000";
      EXPECT_THAT(ErrorOf(keys),
                  testing::AllOf(HasSubstr(fmt::format("key '{}'", row.name)),
                                 HasSubstr(fmt::format("number from {} to {}", found[1].str(),
                                                       found[2].str()))));
    }
    EXPECT_GT(ranges, 0);
  }
}

TEST(Keys, DefaultsAreTheParsers) {
  for (const Family& family : Families()) {
    const std::map<std::string, std::string> all = PrintedKeys(family);
    std::map<std::string, std::string> required;
    for (const auto& row : RowsOf(family)) {
      if (row.by_default == "required") required[row.name] = all.at(row.name);
    }
    const auto accelerator = ParseAccelerator(Yaml(required), "net.yaml");
    ASSERT_TRUE(accelerator.ok()) << accelerator.status();
    const std::string printed = "\n" + (*accelerator)->Describe();
    for (const auto& row : RowsOf(family)) {
      if (row.by_default == "required") {
        std::map<std::string, std::string> keys = required;
        keys.erase(row.name);
        EXPECT_THAT(ErrorOf(keys), HasSubstr(fmt::format("key '{}'", row.name)));
      } else if (printed.find(fmt::format("\n{}:", row.name)) == std::string::npos) {
        EXPECT_EQ(row.by_default, "none") << row.name;  // an empty list is not printed
      } else if (row.by_default != "all") {  // of numbers of a list, which are printed one by one
        EXPECT_THAT(printed, HasSubstr(fmt::format("\n{}: {}\n", row.name, row.by_default)));
      }
    }
  }
}

}  // namespace
}  // namespace kiln::conformance
