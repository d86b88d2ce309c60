#include "kiln/cli/checks.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"

namespace kiln::cli {
namespace {

// A whole number that no type of the machine holds is out of range, too.
bool IsWhole(const std::string& text) {
  const size_t begin = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return text.size() > begin &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

template <typename T>
CLI::Validator Between(T low, T high, const char* what) {
  const auto check = [low, high, what](const std::string& text) -> std::string {
    T value{};
    const bool read = CLI::detail::lexical_cast(text, value);
    if (!read && !IsWhole(text)) return fmt::format("'{}' is {}; {} to {}", text, what, low, high);
    if (!read || !(value >= low && value <= high))
      return fmt::format("Value {} not in range {} to {}", text, low, high);
    return "";
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator InRange(int64_t low, int64_t high) { return Between(low, high, "no whole number"); }
CLI::Validator RealInRange(double low, double high) {
  return Between(low, high, "no number").description(fmt::format("{} to {}", low, high));
}

}  // namespace kiln::cli
