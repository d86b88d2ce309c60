// Checks that docs/budgets.md lists the budget of every parser as it is.
#include "kiln/support/budgets.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "fmt/format.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// 1 MiB for 1048576 bytes; the number itself for a count.
std::string Shown(const budgets::Budget& budget) {
  constexpr std::pair<int64_t, const char*> kUnits[] = {
      {budgets::kGiB, "GiB"}, {budgets::kMiB, "MiB"}, {budgets::kKiB, "KiB"}};
  if (std::string_view(budget.unit).empty()) return fmt::format("{}", budget.limit);
  for (const auto& [bytes, unit] : kUnits) {
    if (budget.limit % bytes == 0) return fmt::format("{} {}", budget.limit / bytes, unit);
    if ((budget.limit + 1) % bytes == 0)
      return fmt::format("{} {} less 1 byte", (budget.limit + 1) / bytes, unit);
  }
  return fmt::format("{} bytes", budget.limit);
}

TEST(Budgets, AreListedInTheDocs) {
  std::string table = "| What | At most |\n|---|---:|\n";
  for (const budgets::Budget& budget : budgets::kAll) {
    std::string what = budget.what;
    what[0] = static_cast<char>(std::toupper(what[0]));
    table += fmt::format("| {} | {} |\n", what, Shown(budget));
  }
  const auto page = ReadFile("docs/budgets.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_NE(page->find(table), std::string::npos) << "docs/budgets.md must have this table:\n\n"
                                                  << table;
}

// A row that nothing tests is a promise that nobody keeps.
TEST(Budgets, AreTestedByName) {
  std::set<std::string> names;
  const std::regex name("\\bk([A-Z][A-Za-z]+)\\b");
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cc" && extension != ".h") continue;
    const std::string text = *ReadFile(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
      names.insert((*at)[1]);
  }
  for (const budgets::Budget& budget : budgets::kAll) {
    EXPECT_TRUE(names.contains(budget.name))
        << "no test names budgets::k" << budget.name << "; test it at its edge";
  }
}

}  // namespace
}  // namespace kiln
