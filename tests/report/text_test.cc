// Tests of formatted numbers, cleaned text and aligned tables.
#include "kiln/report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kiln {
namespace {

using testing::ElementsAre;

TEST(Text, Numbers) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(-1000), "-1,000");
  EXPECT_EQ(Thousands(1234567), "1,234,567");
  EXPECT_EQ(Thousands(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(Counted(1, "image"), "1 image");
  EXPECT_EQ(Counted(0, "image"), "0 images");
  EXPECT_EQ(Counted(2000, "image"), "2,000 images");
  EXPECT_EQ(Percent(0.12345), "12.3 %");
  EXPECT_EQ(Percent(std::nan("")), "-");
  EXPECT_EQ(Metric(10234567, "MACs"), "10.2 M MACs");
  EXPECT_EQ(Metric(12, "MACs"), "12 MACs");
  EXPECT_EQ(Metric(1e7), "10.0 M");
  EXPECT_EQ(Metric(223'080), "223 k");
  EXPECT_EQ(ThreeDigits(999.4), "999");
  EXPECT_EQ(ThreeDigits(99.97), "100");
  EXPECT_EQ(ThreeDigits(9.997), "10.0");
  EXPECT_EQ(ThreeDigits(0.0022312), "0.00223");
  EXPECT_EQ(WithoutExponent(1998720), "1,998,720");
  EXPECT_EQ(WithoutExponent(1998720.4), "1,998,720");
  EXPECT_EQ(WithoutExponent(64), "64");
  EXPECT_EQ(WithoutExponent(0), "0");
  EXPECT_EQ(WithoutExponent(12.34567), "12.35");
  EXPECT_EQ(WithoutExponent(-1e6), "-1,000,000");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(int64_t{3} << 30), "3.0 GiB");
}

TEST(Text, CleansUtf8) {
  EXPECT_EQ(CleanUtf8("a\tb\x7f"),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(CleanUtf8("naïve → 😀"), "naïve → 😀");
  EXPECT_EQ(CleanUtf8("\xc3"), "\xef\xbf\xbd");                                  // cut off
  EXPECT_EQ(CleanUtf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
  EXPECT_EQ(CleanUtf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
  EXPECT_EQ(EscapeHtml("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
}

// Groups of three digits begin at the last one, whatever the sign; units begin at whole ones.
TEST(Text, NumbersAtTheEndsOfUnits) {
  EXPECT_EQ(Thousands(-999), "-999");
  EXPECT_EQ(Thousands(1000), "1,000");
  EXPECT_EQ(Thousands(-123456), "-123,456");
  EXPECT_EQ(Thousands(999999), "999,999");
  EXPECT_EQ(Thousands(1000000), "1,000,000");
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(1024), "1.0 KiB");
  EXPECT_EQ(Bytes(int64_t{1} << 20), "1.0 MiB");
  EXPECT_EQ(Bytes((int64_t{1} << 20) - 1), "1024.0 KiB");
  EXPECT_EQ(Bytes(int64_t{1} << 40), "1.0 TiB");
  EXPECT_EQ(Bytes(int64_t{1} << 52), "4096.0 TiB");
  EXPECT_EQ(Metric(999, "x"), "999 x");
  EXPECT_EQ(Metric(1000, "x"), "1.00 k x");
  EXPECT_EQ(Metric(-2500), "-2.50 k");
}

// Unicode standard, table 3-7: the first and the last character of every row, and their neighbours
// outside.
TEST(Text, Utf8AtTheEndsOfItsTable) {
  for (const char* good : {"\x7e", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf",
                           "\xe1\x80\x80", "\xec\xbf\xbf", "\xed\x80\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\xbf\xbf\xbf",
                           "\xf3\xbf\xbf\xbf", "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(CleanUtf8(good), good);
  }
  for (const char* bad :
       {"\x80", "\xbf", "\xc1\xbf", "\xc2\x7f", "\xc2\xc0", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xe1\x80\x7f", "\xe1\x80\xc0", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
        "\xf1\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(CleanUtf8(bad).rfind("\xef\xbf\xbd", 0), 0u) << EscapeHtml(bad);
  }
}

TEST(Text, Shortens) {
  EXPECT_EQ(Shorten("short", 5), "short");
  EXPECT_EQ(Shorten("abcdefghij", 7), "abc…hij");
  EXPECT_EQ(Width(Shorten("ääääääääää", 6)), 6u);
}

// Texts that Shorten would make equal are cut at another place, or less.
TEST(Text, ShortensApart) {
  EXPECT_THAT(ShortenApart({"short", "abcdefghij", "short"}, 7),
              ElementsAre("short", "abc…hij", "short"));
  EXPECT_THAT(ShortenApart({"abcdefghij", "abcdeXghij", "abcdefghij"}, 7),
              ElementsAre("a…fghij", "a…Xghij", "a…fghij"));
  // No cut to 7 characters keeps the sixth.
  EXPECT_THAT(ShortenApart({"abc-----hij", "abc--X--hij"}, 7),
              ElementsAre("abc-----hij", "abc--X--hij"));
}

// Texts that hold the mark of a cut themselves can look like what others are cut to.
TEST(Text, ShortensTextsThatLookCut) {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; texts.size() < 2047; ++i) {
    texts.push_back(texts[i] + "a");
    texts.push_back(texts[i] + "…");
  }
  const std::vector<std::string> cut = ShortenApart(texts, 4);
  ASSERT_EQ(cut.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_LE(Width(cut[i]), std::max<size_t>(Width(texts[i]), 4)) << texts[i];
    if (Width(texts[i]) <= 4) {
      EXPECT_EQ(cut[i], texts[i]);
    }
  }
}

TEST(Table, Aligns) {
  Table table;
  table.Column("name").Right("cycles").Column("ünit");
  table.Row({"a", "1,000", "ä"});
  table.Row({"longer", "7", ""});
  EXPECT_EQ(table.ToString(),
            "name    cycles  ünit\n"
            "------  ------  ----\n"
            "a        1,000  ä\n"
            "longer       7\n");
}

}  // namespace
}  // namespace kiln
