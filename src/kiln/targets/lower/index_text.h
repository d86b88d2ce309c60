// Indices as text, for those who write software for the host: expressions of integers with + - * /
// % that are evaluated from left to right, products and quotients before sums. Terms and factors
// that change nothing are left out.
#ifndef KILN_TARGETS_LOWER_INDEX_TEXT_H_
#define KILN_TARGETS_LOWER_INDEX_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/targets/lower/strided_view.h"

namespace kiln {

// Returns the sum of two expressions, or of an expression and a number.
std::string SumText(std::string_view a, std::string_view b);
std::string SumText(std::string_view a, int64_t number);
// Returns a product, which needs no parentheses. `term` is a name or a product.
std::string ProductText(std::string_view term, int64_t factor);
// Returns a digit of a number: `name` / below % count, where `name` is less than below * range.
std::string DigitText(std::string_view name, int64_t below, int64_t count, int64_t range);
// Returns the position of element number `name` of a view in row-major order.
std::string PositionText(std::string_view name, const StridedView& view);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_INDEX_TEXT_H_
