// Options on the command line: whether they are given, and validators of their values.
#ifndef KILN_COMMAND_CHECKS_H_
#define KILN_COMMAND_CHECKS_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::cli {

// Returns whether an option of the command, or of one of its groups, is on the command line.
bool IsGiven(const CLI::App& app, const std::string& option);

// Accepts whole numbers from `low` to `high`. The help text does not show the range.
CLI::Validator InRange(int64_t low, int64_t high);
// Accepts numbers from `low` to `high`. The help text shows the range.
CLI::Validator RealInRange(double low, double high);

// Accepts counts of images: 0 or more.
inline CLI::Validator IsCount() { return InRange(0, int64_t{1} << 40); }

// Returns an error if a list of an option names something twice.
Status CheckNamedOnce(std::string_view option, std::span<const std::string> names);

}  // namespace kiln::cli

#endif  // KILN_COMMAND_CHECKS_H_
