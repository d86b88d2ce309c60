// Checks of option values.
#ifndef KILN_CLI_CHECKS_H_
#define KILN_CLI_CHECKS_H_

#include <CLI/App.hpp>
#include <cstdint>

namespace kiln::cli {

// A whole number from `low` to `high`; the help text does not show the range.
CLI::Validator InRange(int64_t low, int64_t high);
// Any number; the help text shows the range.
CLI::Validator RealInRange(double low, double high);

// For counts of images: 0 or more.
inline CLI::Validator IsCount() { return InRange(0, int64_t{1} << 40); }

}  // namespace kiln::cli

#endif  // KILN_CLI_CHECKS_H_
