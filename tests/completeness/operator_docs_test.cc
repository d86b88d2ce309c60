// Checks that docs/operators.md equals operators.def and signatures.def: the table of operators and
// the list of their attributes follow from them. The notes are written by hand.
// KILN_WRITE_DOCS=1 rewrites the table and the list.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "kiln/ir/op.h"
#include "kiln/ir/signature.h"
#include "kiln/support/file.h"
#include "kiln/support/markdown.h"

namespace kiln {
namespace {

constexpr std::string_view kPath = "docs/operators.md";
constexpr std::string_view kHeader =
    "| Text | ONNX | Operands | Element types |\n|---|---|---|---|\n";
constexpr std::string_view kAttributes = "\n## Attributes\n";
constexpr std::string_view kNotes = "\n## Notes\n";

std::string RangeText(int least, int most) {
  if (most < 0) return fmt::format("{} or more", least);
  return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
}

std::string AttributesText(const Signature& signature) {
  std::string out;
  for (const AttributeSpec& spec : signature.attributes) {
    out += (out.empty() ? "`" : ", `") + spec.name + "` " + std::string(NameOf(spec.kind));
    if (spec.required) out += " (required)";
    if (!spec.fallback.empty()) out += " = " + spec.fallback;
    if (!spec.allowed.empty()) out += fmt::format(" of {}", fmt::join(spec.allowed, "/"));
  }
  return out;
}

// The table of all operators.
std::string TableText() {
  std::string table(kHeader);
  for (const OpInfo& info : AllOps()) {
    std::string onnx = std::string(info.onnx_name);
    if (!info.onnx_domain.empty()) onnx += info.onnx_domain == "kiln" ? " (Kiln)" : " (QONNX)";
    table +=
        fmt::format("| `{}` | {} | {} | `{}` |\n", info.text, onnx,
                    RangeText(info.min_operands, info.max_operands), SignatureOf(info.op).types);
  }
  return table;
}

// The list of the attributes of all operators that have any.
std::string ListText() {
  std::string list;
  for (const OpInfo& info : AllOps()) {
    const std::string attributes = AttributesText(SignatureOf(info.op));
    if (!attributes.empty()) list += MarkdownItem(fmt::format("`{}`: {}.", info.text, attributes));
  }
  return list;
}

// The part of a page from `begin` up to `end`.
struct Part {
  size_t begin = std::string::npos, end = std::string::npos;
};

// Returns the paragraph of `page` that begins with `start`, at `from` or later.
Part FindParagraph(const std::string& page, std::string_view start, size_t from) {
  const size_t begin = page.find(start, from);
  const size_t end = begin == std::string::npos ? begin : page.find("\n\n", begin);
  return {begin, end == std::string::npos ? page.size() : end + 1};
}

TEST(OperatorDocs, FollowFromTheOperators) {
  const auto text = ReadFile(kPath);
  ASSERT_TRUE(text.ok()) << MessageOf(text.status()) << " (run from the root of the repository)";
  std::string page = *text;
  const size_t heading = page.find(kAttributes);
  ASSERT_NE(heading, std::string::npos);
  const Part list = FindParagraph(page, "- `", heading);
  ASSERT_NE(list.begin, std::string::npos);
  const Part table = FindParagraph(page, kHeader, 0);
  ASSERT_NE(table.begin, std::string::npos);
  ASSERT_LT(table.end, list.begin);
  page.replace(list.begin, list.end - list.begin, ListText());
  page.replace(table.begin, table.end - table.begin, TableText());
  if (std::getenv("KILN_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(WriteFile(kPath, page).ok());
  } else {
    EXPECT_EQ(*text, page) << "KILN_WRITE_DOCS=1 build/tests/completeness_test rewrites the page";
  }
}

TEST(OperatorDocs, NotesAreOfOperators) {
  const auto text = ReadFile(kPath);
  ASSERT_TRUE(text.ok()) << MessageOf(text.status());
  ASSERT_NE(text->find(kNotes), std::string::npos);
  const std::string notes = text->substr(text->find(kNotes));
  const std::regex item("\n- `([a-z0-9_]+)`: ");
  int count = 0;
  for (std::sregex_iterator at(notes.begin(), notes.end(), item), end; at != end; ++at, ++count)
    EXPECT_TRUE(FindOpByText((*at)[1].str()).has_value()) << (*at)[1];
  EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace kiln
