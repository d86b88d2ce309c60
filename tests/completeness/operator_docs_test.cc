// Checks that docs/operators.md equals operators.def and signatures.def. All columns but the last
// follow from the tables; the last, Notes, is written by hand. KILN_WRITE_DOCS=1 rewrites the table
// and keeps the notes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/op.h"
#include "kiln/ir/signature.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

constexpr std::string_view kPath = "docs/operators.md";
constexpr std::string_view kHeader =
    "| Text | ONNX | Operands | Element types | Attributes | Notes |";

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

// The row up to the Notes.
std::string GeneratedCells(const OpInfo& info) {
  const Signature& signature = SignatureOf(info.op);
  std::string onnx = std::string(info.onnx_name);
  if (!info.onnx_domain.empty()) onnx += info.onnx_domain == "kiln" ? " (Kiln)" : " (QONNX)";
  return fmt::format("| `{}` | {} | {} | `{}` | {} |", info.text, onnx,
                     RangeText(info.min_operands, info.max_operands), signature.types,
                     AttributesText(signature));
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Rows of the table by their first cell.
std::map<std::string, std::string> RowsOf(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> rows;
  for (const std::string& line : lines) {
    if (line.starts_with("| `")) rows[line.substr(3, line.find('`', 3) - 3)] = line;
  }
  return rows;
}

// The last cell, with its bars: " note |".
std::string NotesOf(const std::string& row) {
  if (row.size() < 3) return "  |";
  return row.substr(row.rfind('|', row.size() - 2) + 1);
}

TEST(OperatorDocs, TableFollowsFromTheOperators) {
  const auto text = ReadFile(kPath);
  ASSERT_TRUE(text.ok()) << MessageOf(text.status()) << " (run from the root of the repository)";
  const std::vector<std::string> lines = LinesOf(*text);
  const std::map<std::string, std::string> rows = RowsOf(lines);
  if (std::getenv("KILN_WRITE_DOCS") != nullptr) {
    std::string out;
    for (const std::string& line : lines) {
      if (line.starts_with("| ")) {
        if (line != kHeader) continue;
        out += line + "\n|---|---|---|---|---|---|\n";
        for (const OpInfo& info : AllOps()) {
          const auto row = rows.find(std::string(info.text));
          out += GeneratedCells(info) + NotesOf(row == rows.end() ? "" : row->second) + "\n";
        }
      } else if (!line.starts_with("|-")) {
        out += line + "\n";
      }
    }
    ASSERT_TRUE(WriteFile(kPath, out).ok());
    return;
  }
  for (const OpInfo& info : AllOps()) {
    const auto row = rows.find(std::string(info.text));
    ASSERT_TRUE(row != rows.end()) << info.text << " has no row in " << kPath;
    EXPECT_TRUE(row->second.starts_with(GeneratedCells(info)))
        << row->second << "\nshould begin\n"
        << GeneratedCells(info)
        << "\nKILN_WRITE_DOCS=1 build/tests/completeness_test rewrites the table";
  }
  EXPECT_EQ(rows.size(), AllOps().size()) << "rows of operators that are no more";
}

}  // namespace
}  // namespace kiln
