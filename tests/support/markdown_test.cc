#include "kiln/support/markdown.h"

#include <gtest/gtest.h>

#include <string>

namespace kiln {
namespace {

TEST(MarkdownItem, ShortTextIsOneLine) { EXPECT_EQ(MarkdownItem("a b"), "- a b\n"); }

TEST(MarkdownItem, LinesHaveAtMostAHundredColumns) {
  const std::string word(49, 'x'), shorter(48, 'y');
  // "- " and 48 + 1 + 49 columns are exactly 100.
  EXPECT_EQ(MarkdownItem(shorter + " " + word + " " + word + " " + shorter + " z"),
            "- " + shorter + " " + word + "\n  " + word + " " + shorter + "\n  z\n");
  EXPECT_EQ(MarkdownItem(word + " " + word), "- " + word + "\n  " + word + "\n");
}

TEST(MarkdownItem, CodeIsNotSplit) {
  const std::string word(90, 'x');
  EXPECT_EQ(MarkdownItem(word + " `a long piece` b"), "- " + word + "\n  `a long piece` b\n");
}

TEST(MarkdownItem, NoLineBeginsWithABullet) {
  const std::string word(95, 'x');
  EXPECT_EQ(MarkdownItem(word + " n - 1"), "- " + word + "\n  n - 1\n");
}

TEST(MarkdownItem, ALongWordHasALineOfItsOwn) {
  const std::string word(200, 'x');
  EXPECT_EQ(MarkdownItem("a " + word + " b"), "- a\n  " + word + "\n  b\n");
  EXPECT_EQ(MarkdownItem(word), "- " + word + "\n");
}

TEST(WrapMarkdown, ShortLinesAndTablesAndCodeStay) {
  const std::string row = "| " + std::string(120, 'a') + " b |\n";
  const std::string code = "```text\n" + std::string(90, 'a') + " bcd efg hij\n```\n";
  for (const std::string& text : {std::string("# a\n\nb c\n"), row, "   " + row, code, code + row,
                                  std::string("no end"), std::string()}) {
    EXPECT_EQ(WrapMarkdown(text), text);
  }
}

TEST(WrapMarkdown, LongLinesContinueAtTheirText) {
  const std::string word(90, 'x'), end = " one two three\n";
  EXPECT_EQ(WrapMarkdown(word + end + "a\n"), word + " one two\nthree\na\n");
  EXPECT_EQ(WrapMarkdown("- " + word + end), "- " + word + " one two\n  three\n");
  EXPECT_EQ(WrapMarkdown("12. " + word + end), "12. " + word + " one\n    two three\n");
  EXPECT_EQ(WrapMarkdown("   " + word + end), "   " + word + " one\n   two three\n");
  EXPECT_EQ(WrapMarkdown(word + " `one two three four`\n"), word + "\n`one two three four`\n");
}

TEST(ReflowMarkdown, LinesOfAParagraphAreJoined) {
  const std::string word(90, 'x');
  EXPECT_EQ(ReflowMarkdown("a b\nc\n\nd\ne"), "a b c\n\nd e");
  EXPECT_EQ(ReflowMarkdown(word + " one two\nthree\nfour\n"), word + " one two\nthree four\n");
  EXPECT_EQ(ReflowMarkdown("1. a\n   b\n2. c\n- d\n  e\n"), "1. a b\n2. c\n- d e\n");
}

TEST(ReflowMarkdown, HeadingsTablesAndCodeStay) {
  for (const std::string_view text :
       {"# a\nb\n", "a\n| b |\n|---|\n| c |\n", "```sh\na\nb\n```\n", "a\n\n```text\n- b\nc\n```\n",
        "2. a\n\n   | b |\n   |---|\n\n3. c\n", ""}) {
    EXPECT_EQ(ReflowMarkdown(text), text);
  }
}

}  // namespace
}  // namespace kiln
