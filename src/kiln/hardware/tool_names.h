// Names and paths that go into scripts of other programs (Yosys, ABC, OpenSTA, make). None of them has a way of quoting
// that covers every character, so text from files and arguments is checked against a list of characters first.
#ifndef KILN_HARDWARE_TOOL_NAMES_H_
#define KILN_HARDWARE_TOOL_NAMES_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::hardware {

// Returns whether `name` is a letter or _, then letters, digits and _: a simple identifier of Verilog, and one word in
// every script.
bool IsIdentifier(std::string_view name);

// Returns whether `path` is relative, leads nowhere out of the folder that it is relative to, and is one word in every
// script: parts of letters, digits and any of _ - . +, that begin with a letter, a digit or _. A part "." is allowed.
bool IsPlainPath(std::string_view path);
inline constexpr std::string_view kPlainPath =
    "a path in the folder, of letters, digits and any of / _ - . +, each part beginning with a "
    "letter, a digit or _";

// Checks the path of a folder that tools write to and whose name goes into scripts as a whole. Error, at `place`: a
// character other than letters, digits, any of / _ - . + , = @ ~ and what is beyond ASCII.
Status CheckToolPath(const std::filesystem::path& path, std::string_view place);

// Returns `name` with every character that no identifier has as '_', and at most 64 characters of it.
std::string PlainName(std::string_view name);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_TOOL_NAMES_H_
