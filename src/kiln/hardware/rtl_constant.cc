// Wide constants as strings of hexadecimal digits.

#include "kiln/hardware/rtl_constant.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln::hardware {

void RtlConstant::Append(uint64_t value, int bits) {
  KILN_CHECK(bits % 4 == 0 && bits <= 64);
  for (int i = 0; i < bits; i += 4) digits_.push_back("0123456789abcdef"[(value >> i) & 15]);
}

void RtlConstant::Append(const RtlConstant& constant, int width) {
  KILN_CHECK(width % 4 == 0 && width >= constant.bits());
  const size_t end = digits_.size() + static_cast<size_t>(width) / 4;
  digits_ += constant.digits_;
  digits_.resize(end, '0');
}

std::string RtlConstant::Text() const {
  const size_t last = digits_.find_last_not_of('0');
  std::string text = last == std::string::npos ? "0" : digits_.substr(0, last + 1);
  std::reverse(text.begin(), text.end());
  return text;
}

std::string RtlConstant::Literal(int width) const {
  KILN_CHECK(width >= bits());
  return fmt::format("{}'h{}", width, Text());
}

std::string RtlConstant::Expression(int width) const {
  constexpr size_t kDigitsOfLine = 64;
  const std::string text = Text();
  if (text.size() <= kDigitsOfLine) return Literal(width);
  // The digits are divided from the low end; the first piece has the remaining digits and width.
  const size_t first = (text.size() - 1) % kDigitsOfLine + 1;
  std::string expression = fmt::format(
      "{{\n    {}'h{}", width - 4 * static_cast<int>(text.size() - first), text.substr(0, first));
  for (size_t begin = first; begin < text.size(); begin += kDigitsOfLine) {
    expression +=
        fmt::format(",\n    {}'h{}", 4 * kDigitsOfLine, text.substr(begin, kDigitsOfLine));
  }
  return expression + "}";
}

}  // namespace kiln::hardware
