// Range validators for whole and real numbers.
#include "kiln/command/checks.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <system_error>
#include <type_traits>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"

namespace kiln::cli {
namespace {

// Returns whether the text is a whole number, even one too large for int64_t: such a number is out
// of range rather than malformed.
bool IsWhole(const std::string& text) {
  const size_t begin = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return text.size() > begin &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// Returns a validator of the closed range. `what` names the fault of malformed text.
template <typename T>
CLI::Validator Between(T low, T high, const char* what) {
  const auto check = [low, high, what](const std::string& text) -> std::string {
    T value{};
    bool read = CLI::detail::lexical_cast(text, value);
    if constexpr (std::is_integral_v<T>) {
      // CLI11 takes the nearest number of the type for one beyond it.
      const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
      const auto end = text.data() + text.size();
      T decimal{};
      read = read && std::from_chars(begin, end, decimal).ec != std::errc::result_out_of_range;
    }
    if (!read && !IsWhole(text)) return fmt::format("'{}' is {}; {} to {}", text, what, low, high);
    if (!read || !(value >= low && value <= high))
      return fmt::format("Value {} not in range {} to {}", text, low, high);
    return "";
  };
  return CLI::Validator(check, "");
}

}  // namespace

bool IsGiven(const CLI::App& app, const std::string& option) {
  return app.get_option(option)->count() > 0;
}

CLI::Validator InRange(int64_t low, int64_t high) { return Between(low, high, "no whole number"); }
CLI::Validator RealInRange(double low, double high) {
  return Between(low, high, "no number").description(fmt::format("{} to {}", low, high));
}

Status CheckNamedOnce(std::string_view option, std::span<const std::string> names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    return ErrorAt("", option, QuotedExcerpt(name) + " is named twice", "name it once");
  }
  return OkStatus();
}

}  // namespace kiln::cli
