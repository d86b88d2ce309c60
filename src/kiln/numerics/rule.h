// Formats that none of the kinds of format.h covers: a rule gives the value of each code, and everything else follows.
// Encoding is the search for the nearest value that codebooks have, so are rounding, tables and vector code.
//
// A rule that Kiln is built with is one file, numerics/rule_<name>.cc, which defines `FormatRule Rule_<name>()`; the
// build lists such files, and AllFormats() has their formats as it has the rows of formats.def. A program that
// uses Kiln as a library registers its own at run time. docs/adding-a-format.md goes through both.
#ifndef KILN_NUMERICS_RULE_H_
#define KILN_NUMERICS_RULE_H_

#include <cstdint>
#include <string>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln {

struct FormatRule {
  std::string name;  // letters, digits and _; of the format
  int bits = 8;      // of a code, 1 to 8
  // The value of a code below 2^bits: finite and, for no two codes, the same.
  float (*value)(uint32_t code) = nullptr;
};

// Makes FindFormat know the rule's format from now on; thread-safe. AllFormats() stays as it was built.
// Errors: a name that is taken or has other characters, bits outside 1 to 8, values not finite or the same twice.
Status RegisterFormat(const FormatRule& rule);

namespace internal {
// The rules that Kiln is built with, as formats.
std::vector<Format> BuiltInRules();
// The registered format of that name, or null; it stays.
const Format* FindRegisteredFormat(std::string_view name);
}  // namespace internal

}  // namespace kiln

#endif  // KILN_NUMERICS_RULE_H_
