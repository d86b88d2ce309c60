// Number formats as SystemVerilog constants: what modules of rtl/ take as their format parameters. The layout of a
// descriptor stands in rtl/arith/kiln_format_pkg.sv.
#ifndef KILN_HARDWARE_RTL_FORMAT_H_
#define KILN_HARDWARE_RTL_FORMAT_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln::hardware {

enum class DescriptorStyle {
  kFields,  // by its fields, where the kind has any: integers, floats, posits
  kTable,  // by the list of its values, whatever the kind; at most 8 bits, monotone (no wrapping, nothing stochastic)
};

// The literal of a format. Codebooks are tables in either style.
std::string FormatDescriptor(const Format& format,
                             DescriptorStyle style = DescriptorStyle::kFields);
// The literal of a list of formats (kiln_format_pkg::formats_t), the first one lowest; at most kMostListedFormats.
inline constexpr int kMostListedFormats = 3;
std::string FormatsDescriptor(std::span<const Format> formats);
// The literal of the quire of the two formats' products (numerics/quire.h), for psums and accumulations.
std::string QuireDescriptor(const Format& input, const Format& weight);
// How wide a format's numbers are between decoding and encoding, as its descriptor has it.
struct NumberWidths {
  int significand_bits = 1;  // of the longest significand, its leading bit included
  int exponent_bits = 1;     // of a signed number for the exponents
  int integer_bits = 0;      // of what a code counts in an integer sum; 0 where it cannot be in one
};
NumberWidths WidthsOf(const Format& format);
// Whether a format can be a table.
bool CanBeTable(const Format& format);

// A name of the language for a format's constant: "INT8", "E4M3_TOWARD_ZERO".
std::string FormatConstantName(const Format& format);

// A package of formats: a constant for each, and format_of(index), all by index.
struct FormatConstant {
  std::string name;
  Format format;
  DescriptorStyle style = DescriptorStyle::kFields;
  std::optional<Format> weight =
      std::nullopt;  // with one, the constant is the quire of `format` and this one
};
//   comment    lines of the file's head, each with its "// "
std::string FormatsPackage(const std::string& package, const std::string& comment,
                           const std::vector<FormatConstant>& constants);
// The text of rtl/arith/kiln_named_formats_pkg.sv: AllFormats() in order.
std::string NamedFormatsPackage();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_FORMAT_H_
