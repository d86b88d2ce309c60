// Names and paths that become part of scripts for other programs (Yosys, ABC, OpenSTA, make). The
// quoting of these programs does not cover every character. Text from files and arguments is
// therefore first checked against a set of allowed characters.
#ifndef KILN_HARDWARE_TOOL_NAMES_H_
#define KILN_HARDWARE_TOOL_NAMES_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::hardware {

// Returns whether `name` is a letter or _, followed by letters, digits and _: a simple Verilog
// identifier, and a single word in every script.
bool IsIdentifier(std::string_view name);

// Returns whether `path` is relative, does not lead out of its folder, and is a single word in
// every script: components of letters, digits and any of _ - . +, each beginning with a letter, a
// digit or _. The component "." is allowed.
bool IsPlainPath(std::string_view path);
inline constexpr std::string_view kPlainPath =
    "a path in the folder, of letters, digits and any of / _ - . +, each part beginning with a "
    "letter, a digit or _";

// Checks the path of a folder that tools write to and that appears in scripts as a whole. Error, at
// `place`: a character that is not a letter, a digit, one of / _ - . + , = @ ~ or a non-ASCII
// character.
Status CheckToolPath(const std::filesystem::path& path, std::string_view place);

// The characters of a plain name, at most.
inline constexpr size_t kMostPlainName = 64;

// Returns the first kMostPlainName characters of `name`, with '_' for every character that
// identifiers cannot have.
std::string PlainName(std::string_view name);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_TOOL_NAMES_H_
