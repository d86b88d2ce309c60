#include "kiln/report/text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kiln {
namespace {

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

TEST(Text, Shortens) {
  EXPECT_EQ(Shorten("short", 5), "short");
  EXPECT_EQ(Shorten("abcdefghij", 7), "abc…hij");
  EXPECT_EQ(Width(Shorten("ääääääääää", 6)), 6u);
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
