// Golden tests of passes: tests/passes/golden/<pass>.txt holds graphs before and after a pass. A
// case is
//
//   --- title
//   <graph>
//   =>
//   <graph>, or the word "unchanged"
//
// KILN_UPDATE_GOLDEN=1 rewrites the files with the current results; check the difference
// afterwards. Each pass's section of docs/passes-*.md shows the first case of its file.
#include <absl/strings/str_replace.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "kiln/ir/text.h"
#include "kiln/passes/pass.h"
#include "kiln/support/file.h"
#include "tests/passes/pass_testing.h"

namespace kiln {
namespace {

struct GoldenCase {
  std::string title, before, after;
};

std::filesystem::path SourceFile(const std::filesystem::path& path) {
  return std::filesystem::exists(path)
             ? path
             : ".." / path;  // tests run in the source folder or the build folder
}

std::filesystem::path GoldenFile(std::string_view pass) {
  return SourceFile(std::filesystem::path("tests/passes/golden") / fmt::format("{}.txt", pass));
}

std::vector<GoldenCase> ReadCases(std::string_view text) {
  std::vector<GoldenCase> cases;
  std::string* part = nullptr;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string line(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (line.rfind("--- ", 0) == 0) {
      cases.push_back({line.substr(4, line.size() - 5), "", ""});
      part = &cases.back().before;
    } else if (line == "=>\n") {
      part = &cases.back().after;
    } else if (part != nullptr) {
      *part += line;
    }
  }
  return cases;
}

std::string WriteCases(const std::vector<GoldenCase>& cases) {
  std::string text;
  for (const GoldenCase& c : cases)
    text += fmt::format("--- {}\n{}=>\n{}", c.title, c.before, c.after);
  return text;
}

class Golden : public testing::TestWithParam<std::string_view> {};

TEST_P(Golden, BeforeAndAfter) {
  const auto file = GoldenFile(GetParam());
  const StatusOr<std::string> text = ReadFile(file);
  ASSERT_TRUE(text.ok()) << MessageOf(text.status());
  std::vector<GoldenCase> cases = ReadCases(*text);
  ASSERT_FALSE(cases.empty());
  const bool update = std::getenv("KILN_UPDATE_GOLDEN") != nullptr;
  for (GoldenCase& c : cases) {
    SCOPED_TRACE(c.title);
    StatusOr<Graph> graph = ParseGraph(c.before, file.string());
    ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
    const Changed changed = CheckPass(*graph, GetParam(), 1);
    const std::string after = changed == Changed::kYes ? PrintGraph(*graph) : "unchanged\n";
    if (update) {
      c.after = after;
    } else {
      EXPECT_EQ(after, c.after);
    }
  }
  if (update) {
    ASSERT_TRUE(WriteFile(file, WriteCases(cases)).ok());
    GTEST_SKIP() << "written: " << file;
  }
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                          [](const GoldenCase& c) { return c.after != "unchanged\n"; }));
}

// Returns the text of all pages docs/passes-*.md, in the order of their names.
std::string PassPages() {
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(SourceFile("docs"))) {
    if (entry.path().filename().string().starts_with("passes-")) pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  std::string text;
  for (const auto& page : pages) {
    const StatusOr<std::string> content = ReadFile(page);
    EXPECT_TRUE(content.ok()) << MessageOf(content.status());
    if (content.ok()) text += *content;
  }
  return text;
}

// Each pass has a section of its name on a page docs/passes-*.md, with its summary and its first
// golden case. The list of docs/passes.md links to the section.
TEST_P(Golden, IsDocumented) {
  const std::string docs = PassPages();
  const size_t begin = docs.find(fmt::format("\n### {}\n", GetParam()));
  ASSERT_NE(begin, std::string::npos)
      << "no page docs/passes-*.md has a section '### " << GetParam() << "'";
  const std::string section = docs.substr(begin, docs.find("\n##", begin + 3) - begin);
  const StatusOr<std::string> golden = ReadFile(GoldenFile(GetParam()));
  ASSERT_TRUE(golden.ok()) << MessageOf(golden.status());
  const GoldenCase first = ReadCases(*golden).at(0);
  EXPECT_THAT(section, testing::HasSubstr(fmt::format("{}=>\n{}", first.before, first.after)));
  const std::string summary(FindPass(GetParam())->summary);
  EXPECT_THAT(section, testing::HasSubstr(summary));
  const StatusOr<std::string> index = ReadFile(SourceFile("docs/passes.md"));
  ASSERT_TRUE(index.ok()) << MessageOf(index.status());
  EXPECT_THAT(*index, testing::ContainsRegex(
                          fmt::format("\n\\[{0}\\]: passes-[a-z-]+\\.md#{0}\n", GetParam())));
  const std::string joined =
      absl::StrReplaceAll(*index, {{"\n  ", " "}});  // items of several lines
  EXPECT_THAT(joined, testing::HasSubstr(fmt::format("\n- **[{}]**: {}.\n", GetParam(), summary)));
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, testing::ValuesIn(PassNames()), [](const auto& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace kiln
