// Golden text: tests/passes/golden/<pass>.txt holds graphs before and after a pass, each case
//
//   --- title
//   <graph>
//   =>
//   <graph>, or the word "unchanged"
//
// Run with KILN_UPDATE_GOLDEN=1 to write what the passes do now into the files; then read the difference. The first
// case of each file stands in docs/passes.md as well.
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

struct Case {
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

std::vector<Case> ReadCases(std::string_view text) {
  std::vector<Case> cases;
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

std::string WriteCases(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& c : cases) text += fmt::format("--- {}\n{}=>\n{}", c.title, c.before, c.after);
  return text;
}

class Golden : public testing::TestWithParam<std::string_view> {};

TEST_P(Golden, BeforeAndAfter) {
  const auto file = GoldenFile(GetParam());
  const StatusOr<std::string> text = ReadFile(file);
  ASSERT_TRUE(text.ok()) << MessageOf(text.status());
  std::vector<Case> cases = ReadCases(*text);
  ASSERT_FALSE(cases.empty());
  const bool update = std::getenv("KILN_UPDATE_GOLDEN") != nullptr;
  for (Case& c : cases) {
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
                          [](const Case& c) { return c.after != "unchanged\n"; }));
}

// Each pass has a section of its name in docs/passes.md, with its summary and its first golden case in it.
TEST_P(Golden, StandsInTheDocumentation) {
  const StatusOr<std::string> docs = ReadFile(SourceFile("docs/passes.md"));
  ASSERT_TRUE(docs.ok()) << MessageOf(docs.status());
  const size_t begin = docs->find(fmt::format("\n### {}\n", GetParam()));
  ASSERT_NE(begin, std::string::npos) << "docs/passes.md has no section '### " << GetParam() << "'";
  const std::string section = docs->substr(begin, docs->find("\n##", begin + 3) - begin);
  const StatusOr<std::string> golden = ReadFile(GoldenFile(GetParam()));
  ASSERT_TRUE(golden.ok()) << MessageOf(golden.status());
  const Case first = ReadCases(*golden).at(0);
  EXPECT_THAT(section, testing::HasSubstr(fmt::format("{}=>\n{}", first.before, first.after)));
  EXPECT_THAT(section, testing::HasSubstr(std::string(FindPass(GetParam())->summary)));
}

std::vector<std::string_view> PassNames() {
  std::vector<std::string_view> names;
  for (const PassInfo& pass : AllPasses()) names.push_back(pass.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, testing::ValuesIn(PassNames()), [](const auto& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace kiln
