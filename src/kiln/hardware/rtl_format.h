// Number formats as SystemVerilog constants, the format parameters of modules in rtl/.
// rtl/arith/kiln_format_pkg.sv defines the layout of a descriptor.
#ifndef KILN_HARDWARE_RTL_FORMAT_H_
#define KILN_HARDWARE_RTL_FORMAT_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln::hardware {

// The form in which a descriptor describes a format.
enum class DescriptorStyle {
  kFields,  // by its fields (integers, floats, posits); codebooks are always tables
  kTable,   // by the list of its values; formats for which CanBeTable holds
};

// Returns the literal of a format's descriptor. Codebooks are tables in either style.
std::string FormatDescriptor(const Format& format,
                             DescriptorStyle style = DescriptorStyle::kFields);
// Returns the literal of a list of formats (kiln_format_pkg::formats_t) with the first one at the
// LSB; at most kMostListedFormats.
inline constexpr int kMostListedFormats = 3;
std::string FormatsDescriptor(std::span<const Format> formats);
// Returns the literal of the quire for products of the two formats (numerics/quire.h), which psum
// and accumulation parameters take.
std::string QuireDescriptor(const Format& input, const Format& weight);
// The widths of a format's numbers between decoding and encoding, as its descriptor states them.
struct NumberWidths {
  int significand_bits = 1;  // bits of the longest significand, with its leading bit
  int exponent_bits = 1;     // bits of a signed number for the exponents
  int integer_bits = 0;      // bits of a code's term in an integer sum; 0 if it has none
};
// Returns the widths of a format.
NumberWidths WidthsOf(const Format& format);
// Returns whether a format can be a table: at most 8 bits, and encoding is monotone (neither
// wrapping nor stochastic).
bool CanBeTable(const Format& format);

// Returns the name of a format's SystemVerilog constant: "INT8", "E4M3_TOWARD_ZERO".
std::string FormatConstantName(const Format& format);

// A named format of a package.
struct FormatConstant {
  std::string name;
  Format format;
  DescriptorStyle style = DescriptorStyle::kFields;
  // If present, the constant is the quire for products of `format` and this format.
  std::optional<Format> weight = std::nullopt;
};
// Returns the text of a package with one constant per format and a function format_of(index) that
// returns them by index. `comment` holds the lines of the file's head, each with its "// ".
std::string FormatsPackage(const std::string& package, const std::string& comment,
                           const std::vector<FormatConstant>& constants);
// Returns the text of rtl/arith/kiln_named_formats_pkg.sv: AllFormats() in order.
std::string NamedFormatsPackage();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_FORMAT_H_
