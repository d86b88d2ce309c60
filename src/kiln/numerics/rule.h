// Formats that no kind of format.h covers. A rule states the value of each code; everything else
// follows. The format is a codebook, so that encoding searches for the nearest value, and rounding,
// tables and vector code are those of codebooks.
//
// A built-in rule is one file, numerics/rule_<name>.cc, that defines `FormatRule Rule_<name>()`.
// The build lists these files, and AllFormats() returns their formats like the rows of formats.def.
// A program that uses Kiln as a library registers its own rules at run time.
// docs/adding-a-format.md explains both.
#ifndef KILN_NUMERICS_RULE_H_
#define KILN_NUMERICS_RULE_H_

#include <cstdint>
#include <string>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

// The definition of a format by the value of each code.
struct FormatRule {
  std::string name;  // of the format: letters, digits and _
  int bits = 8;      // width of a code, 1 to 8
  // Returns the value of a code below 2^bits. Values must be finite and distinct.
  float (*value)(uint32_t code) = nullptr;
};

// Adds the rule's format to the formats that FindFormat knows; thread-safe. Does not change
// AllFormats(). Errors: a name that is taken or has other characters, bits outside 1 to 8, values
// that are not finite or not distinct.
Status RegisterFormat(const FormatRule& rule);

namespace internal {
// Returns the formats of the built-in rules.
std::vector<Format> BuiltInRules();
// Returns the registered format with that name, or null. The pointer stays valid.
const Format* FindRegisteredFormat(std::string_view name);
}  // namespace internal

}  // namespace kiln

#endif  // KILN_NUMERICS_RULE_H_
