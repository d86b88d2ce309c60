// Formats numbers, names and tables for people. All text reports use these functions, so that
// figures look alike everywhere.
#ifndef KILN_REPORT_TEXT_H_
#define KILN_REPORT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

std::string Thousands(int64_t value);  // 1234567 -> "1,234,567"
// 1, "image" -> "1 image"; 2000, "image" -> "2,000 images"
std::string Counted(int64_t count, std::string_view noun);
// 0.1234 -> "12.3 %"; "-" if the fraction is not finite
std::string Percent(double fraction, int digits = 1);
// 223.08 -> "223", 22.31 -> "22.3", 2.231 -> "2.23", 0.002231 -> "0.00223"
std::string ThreeDigits(double value);
// Returns a number with all its digits, or rounded to four: 1998720 -> "1,998,720", 1.5 -> "1.5"
std::string WithoutExponent(double value);
std::string Metric(double value, std::string_view unit = "");  // 10234567, "MACs" -> "10.2 M MACs"
std::string Bytes(int64_t bytes);                              // 70000 -> "68.4 KiB"

// Returns `text` as valid UTF-8 on one line: control characters and invalid bytes become U+FFFD.
// Reports print names from network files, which may hold anything.
std::string CleanUtf8(std::string_view text);
// Returns CleanUtf8 with & < > " ' escaped, for text and quoted attributes in HTML and SVG.
std::string EscapeHtml(std::string_view text);
// Returns at most `width` characters; the middle of longer texts is replaced by "…".
std::string Shorten(std::string_view text, size_t width);
// Shortens texts that are read together, such as the names of a column. Texts that differ remain
// different: those that Shorten would make equal are cut at another place or keep more characters.
std::vector<std::string> ShortenApart(const std::vector<std::string>& texts, size_t width);
// Returns the number of characters.
size_t Width(std::string_view utf8);

// A table formatted as aligned text. Right-aligned columns line up at their last character.
class Table {
 public:
  enum class Align { kLeft, kRight };
  // Adds a column; all columns must be added before the first row.
  Table& Column(std::string title, Align align = Align::kLeft);
  Table& Right(std::string title) { return Column(std::move(title), Align::kRight); }
  // Adds a row with one cell per column.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Formats the table: two spaces between columns, a line under the titles, no spaces at line ends.
  std::string ToString() const;

 private:
  struct Head {
    std::string title;
    Align align;
  };
  std::vector<Head> heads_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kiln

#endif  // KILN_REPORT_TEXT_H_
