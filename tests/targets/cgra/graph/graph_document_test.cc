// docs/cgra-graphs.md describes the operators and named graphs that there are, and its examples are
// graphs of the value that it states.

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/file.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

std::string Page() {
  auto text = ReadFile("docs/cgra-graphs.md");
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// Returns the indented block after a heading that begins with `start`.
std::string Example(const std::string& heading, const std::string& start) {
  const std::string page = Page();
  const size_t begin = page.find("\n    " + start, page.find("\n" + heading + "\n"));
  EXPECT_NE(begin, std::string::npos) << heading;
  return begin == std::string::npos ? "" : page.substr(begin, page.find("\n\n", begin) - begin);
}

TEST(GraphDocumentTest, HasTheOperatorsAndTheirNames) {
  const std::string page = Page();
  size_t rows = 0;
  for (Op op = Op::kConst; op <= Op::kBranch; op = static_cast<Op>(static_cast<int>(op) + 1)) {
    const OperatorRow& row = RowOf(op);
    std::string aliases;
    for (const std::string& alias : std::vector<std::string>(
             absl::StrSplit(std::string(row.aliases), ' ', absl::SkipEmpty()))) {
      aliases += fmt::format(" `{}`", alias);
    }
    EXPECT_THAT(page, HasSubstr(fmt::format("\n| `{}` |{} | ", row.name, aliases)));
    ++rows;
  }
  EXPECT_EQ(rows, 26U);
}

TEST(GraphDocumentTest, HasTheNamedGraphs) {
  std::string table = "| name | what |\n|---|---|\n";
  for (const NamedGraph& row : NamedGraphs())
    table += fmt::format("| `{}` | {} |\n", row.name, row.what);
  EXPECT_THAT(Page(), HasSubstr(table));
}

TEST(GraphDocumentTest, ItsExamplesAreTheGraphOfItsFormula) {
  const auto json = ParseGraphJson(Example("## JSON", "{"), "page");
  ASSERT_TRUE(json.ok()) << json.status();
  const auto dot = ParseGraphDot(Example("## DOT", "digraph"), "page");
  ASSERT_TRUE(dot.ok()) << dot.status();
  for (const ComputationGraph* graph : {&*json, &*dot}) {
    std::vector<std::vector<Vector>> inputs;
    for (int32_t t = 0; t < 5; ++t) inputs.push_back({{t * t}});
    const Evaluation value = Evaluate(*graph, inputs, {.threads = 5, .lanes = 1});
    int32_t y = 100;
    for (int32_t t = 0; t < 5; ++t) {
      y += 3 * t * t;
      EXPECT_EQ(value.outputs[static_cast<size_t>(t)][0][0], y);
    }
    const auto mapping = ParseMapping(Example("## Mappings", "{"), "page", *graph);
    ASSERT_TRUE(mapping.ok()) << mapping.status();
    EXPECT_EQ(PrintVerdict(CheckMapping(*graph, Config(), *mapping)), "");
  }
}

}  // namespace
}  // namespace kiln::cgra
