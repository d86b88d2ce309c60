// Composes expressions.

#include "kiln/targets/lower/index_text.h"

#include <span>
#include <vector>

#include "fmt/format.h"

namespace kiln {

std::string SumText(std::string_view a, std::string_view b) {
  if (a == "0") return std::string(b);
  return b == "0" ? std::string(a) : fmt::format("{} + {}", a, b);
}

std::string SumText(std::string_view a, int64_t number) {
  if (number < 0) return fmt::format("{} - {}", a, -number);
  return SumText(a, std::to_string(number));
}

std::string ProductText(std::string_view term, int64_t factor) {
  if (factor == 0 || term == "0") return "0";
  return factor == 1 ? std::string(term) : fmt::format("{} * {}", term, factor);
}

std::string DigitText(std::string_view name, int64_t below, int64_t count, int64_t range) {
  if (count == 1) return "0";
  std::string text(name);
  if (below > 1) text += fmt::format(" / {}", below);
  if (range > count) text += fmt::format(" % {}", count);
  return text;
}

std::string PositionText(std::string_view name, const StridedView& view) {
  const std::span<const int64_t> strides[] = {view.strides};
  std::string text = "0";
  int64_t below = 1;
  const std::vector<StridedLoop> loops = LoopsOver(view.shape, strides, /*keep_last=*/false);
  for (const StridedLoop& loop : loops) below *= loop.count;
  const int64_t elements = below;
  for (const StridedLoop& loop : loops) {
    below /= loop.count;
    text = SumText(
        text, ProductText(DigitText(name, below, loop.count, elements / below), loop.strides[0]));
  }
  return SumText(text, view.offset);
}

}  // namespace kiln
