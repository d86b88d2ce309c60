// Numbers and names as people read them.
#ifndef KILN_REPORT_TEXT_H_
#define KILN_REPORT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

std::string Thousands(int64_t value);  // 1234567 -> "1,234,567"
std::string Counted(int64_t count,
                    std::string_view noun);  // 1, "image" -> "1 image"; 2000 -> "2,000 images"
std::string Percent(double fraction,
                    int digits = 1);  // 0.1234 -> "12.3 %"; "-" when it is no number
// 223.08 -> "223", 22.31 -> "22.3", 2.231 -> "2.23", 0.002231 -> "0.00223".
std::string ThreeDigits(double value);
std::string Metric(double value, std::string_view unit = "");  // 10234567, "MACs" -> "10.2 M MACs"
std::string Bytes(int64_t bytes);                              // 70000 -> "68.4 KiB"

// `text` as UTF-8 on one line: control characters and bytes that are not UTF-8 become U+FFFD. Names come from outside.
std::string CleanUtf8(std::string_view text);
// For HTML and SVG, in text and in quoted attributes: CleanUtf8 with & < > " ' escaped.
std::string EscapeHtml(std::string_view text);
// At most `width` characters, the middle left out as "…".
std::string Shorten(std::string_view text, size_t width);
size_t Width(std::string_view utf8);  // in characters

// A table as aligned text. Cells in right-aligned columns line up at their last character.
class Table {
 public:
  enum class Align { kLeft, kRight };
  Table& Column(std::string title, Align align = Align::kLeft);
  Table& Right(std::string title) { return Column(std::move(title), Align::kRight); }
  // As many cells as columns.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Columns two blanks apart, a line under the titles, no blanks at line ends.
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
