// Checks how text and lists of any length are cut for messages.
#include "kiln/support/excerpt.h"

#include <gtest/gtest.h>

#include <vector>

#include "kiln/support/status.h"

namespace kiln {
namespace {

TEST(Excerpt, ShortTextIsWhole) {
  EXPECT_EQ(Excerpt(""), "");
  EXPECT_EQ(Excerpt("conv_1"), "conv_1");
  EXPECT_EQ(Excerpt(std::string(kExcerptBytes, 'a')), std::string(kExcerptBytes, 'a'));
  EXPECT_EQ(QuotedExcerpt("conv_1"), "'conv_1'");
}

TEST(Excerpt, LongTextKeepsBothEndsAndSaysItsLength) {
  EXPECT_EQ(Excerpt("abcdefghij", 8), "abcdef...ij (10 bytes in all)");
  EXPECT_EQ(QuotedExcerpt("abcdefghij", 8), "'abcdef...ij' (10 bytes in all)");
  EXPECT_EQ(Excerpt(std::string(5'000'000, 'x')).size(),
            kExcerptBytes + std::string("... (5000000 bytes in all)").size());
}

TEST(Excerpt, CharactersOfUtf8StayWhole) {
  // Each character has three bytes: the cut after 6 and before the last 2 bytes falls inside one.
  EXPECT_EQ(Excerpt("€€€€", 8), "€€...€ (12 bytes in all)");
  EXPECT_EQ(Excerpt("a€€€€", 8), "a€...€ (13 bytes in all)");
  // Bytes that are not UTF-8 are cut anywhere.
  EXPECT_EQ(Excerpt(std::string(100, '\x80'), 8),
            std::string(6, '\x80') + "..." + std::string(2, '\x80') + " (100 bytes in all)");
}

TEST(Excerpt, Lists) {
  EXPECT_EQ(ListExcerpt(std::vector<int>{}), "");
  EXPECT_EQ(ListExcerpt(std::vector<int>{1, 2, 3}), "1,2,3");
  EXPECT_EQ(ListExcerpt(std::vector<int>(8, 7)), "7,7,7,7,7,7,7,7");
  EXPECT_EQ(ListExcerpt(std::vector<int>(9, 7)), "7,7,7,7,7,7,7,7,... (9 in all)");
  EXPECT_EQ(ListExcerpt(std::vector<std::string>{"a", "b", "c"}, ", ", 2), "a, b, ... (3 in all)");
  EXPECT_LT(ListExcerpt(std::vector<std::string>(100, std::string(1000, 'a'))).size(), 1300u);
}

TEST(Excerpt, MessagesHaveLessThanTwoKilobytes) {
  const std::string text(100'000, 'a');
  for (const Status& status :
       {ErrorAt(text, "", "", ""), ErrorAt("", text, text, text), NotFoundAt("f", "p", text, ""),
        UnsupportedAt("f", "p", "fault", text),
        WithContext(text, WithContext(text, ErrorAt("", "", text, "")))}) {
    EXPECT_LT(MessageOf(status).size(), 2048u);
    EXPECT_GT(MessageOf(status).size(), 1000u);
  }
  // The start and the remedy are kept.
  const std::string message = MessageOf(ErrorAt("net.onnx", "node 'n'", text, "use another"));
  EXPECT_EQ(message.substr(0, 20), "net.onnx: node 'n': ");
  EXPECT_NE(message.find("; use another ("), std::string::npos) << message;
}

}  // namespace
}  // namespace kiln
