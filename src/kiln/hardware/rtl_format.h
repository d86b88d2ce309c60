// Number formats as SystemVerilog constants: what modules of rtl/ take as their format parameters. The layout of a
// descriptor stands in rtl/arith/kiln_format_pkg.sv.
#ifndef KILN_HARDWARE_RTL_FORMAT_H_
#define KILN_HARDWARE_RTL_FORMAT_H_

#include <string>

#include "kiln/numerics/format.h"

namespace kiln::hardware {

enum class DescriptorStyle {
  kFields,  // by its fields, where the kind has any: integers, floats, posits
  kTable,   // by the list of its values, whatever the kind; at most 8 bits, monotone (no wrapping, nothing stochastic)
};

// The literal of a format. Codebooks are tables in either style.
std::string FormatDescriptor(const Format& format, DescriptorStyle style = DescriptorStyle::kFields);
// Whether a format can be a table.
bool CanBeTable(const Format& format);

// The name of a named format's constant in kiln_named_formats_pkg: "INT8", "POSIT8_1".
std::string FormatConstantName(const Format& format);
// The text of rtl/arith/kiln_named_formats_pkg.sv: a constant for every format of AllFormats(), and all by index.
std::string NamedFormatsPackage();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_FORMAT_H_
