// Builds format descriptors field by field, in the layout of rtl/arith/kiln_format_pkg.sv.

#include "kiln/hardware/rtl_format.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/rtl_constant.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/quire.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::hardware {
namespace {

// The sizes in kiln_format_pkg: FORMAT_BITS and its parts.
constexpr int kHeaderBits = 128, kValueBits = 32, kStepBits = 40;
constexpr int kMostTableBits = 8;
constexpr int kMostCodes = 1 << kMostTableBits;
constexpr int kMostSteps = kMostCodes + 2;
constexpr int kFormatBits = kHeaderBits + kMostCodes * kValueBits + kMostSteps * kStepBits;

// The kinds of descriptors, numbered as in kiln_format_pkg.
enum Kind : uint8_t { kInteger = 0, kFloat = 1, kPosit = 2, kTable = 3, kQuire = 4 };

// The ranges of significands and exponents of a format's values.
struct Span {
  int significand_bits = 1;
  int64_t least_exponent = 0, greatest_exponent = 0;  // of the leading bits of nonzero values

  // Widens the ranges to include x; ignores zero, infinities and NaN.
  void Add(const Exact& x) {
    if (!x.is_finite() || x.is_zero()) return;
    significand_bits = std::max(significand_bits, 64 - std::countr_zero(x.significand));
    least_exponent = std::min(least_exponent, x.exponent);
    greatest_exponent = std::max(greatest_exponent, x.exponent);
  }
};

// Returns the ranges of a format: of all codes for narrow formats, of the extreme values for
// others.
Span SpanOf(const Format& format) {
  Span span;
  if (format.bits <= kMostTableBits) {
    for (uint32_t code = 0; code <= CodeMask(format); ++code) span.Add(Decode(format, code));
    return span;
  }
  for (const Exact& end : {LeastPositive(format), GreatestValue(format), LeastValue(format)})
    span.Add(end);
  switch (format.kind) {
    case FormatKind::kInteger:
      span.significand_bits = format.is_signed ? format.bits - 1 : format.bits;
      break;
    case FormatKind::kFloat:
      span.significand_bits = format.fraction_bits + 1;
      break;
    default:
      span.significand_bits = std::max(1, format.bits - 2 - format.exponent_bits);
      break;
  }
  return span;
}

// Returns the width of a two's complement integer that holds every code's term in an integer sum,
// or 0 if the format cannot be an operand of such a sum.
int IntegerBits(const Format& format, bool table) {
  if (!table) return format.is_integer() ? format.bits + (format.is_signed ? 0 : 1) : 0;
  int64_t greatest = 0;
  for (uint32_t code = 0; code <= CodeMask(format); ++code) {
    const float value = DecodeFloat(format, code);
    // The condition of IsIntegerOperand (numerics/mac.h).
    if (!(std::fabs(value) <= 32767) || value != std::nearbyint(value)) return 0;
    greatest = std::max<int64_t>(greatest, static_cast<int64_t>(std::fabs(value)));
  }
  return SignedBits(-greatest, greatest);
}

// Returns the field low_exponent. For a table it states whether any value is a subnormal fp32
// number.
uint64_t LowExponentOf(const Format& format, Kind kind) {
  if (kind == kFloat) return static_cast<uint64_t>(format.low_exponent);
  if (kind != kTable) return 0;
  for (uint32_t code = 0; code <= CodeMask(format); ++code) {
    if (std::fpclassify(DecodeFloat(format, code)) == FP_SUBNORMAL)
      return static_cast<uint64_t>(LowExponent::kSubnormal);
  }
  return static_cast<uint64_t>(LowExponent::kZero);
}

// Appends the header. Tables have zeros in the fields that only other kinds use.
void AppendHeader(const Format& format, Kind kind, size_t steps, RtlConstant* constant) {
  const bool fields = kind != kTable;
  const Span span = SpanOf(format);
  constant->Append(kind, 4);
  constant->Append(static_cast<uint64_t>(format.bits), 8);
  constant->Append(fields && format.is_signed ? 1 : 0, 4);
  constant->Append(fields ? static_cast<uint64_t>(format.exponent_bits) : 0, 8);
  constant->Append(fields ? static_cast<uint64_t>(format.fraction_bits) : 0, 8);
  constant->Append(fields ? static_cast<uint64_t>(format.bias) : 0, 16);
  constant->Append(kind == kFloat ? static_cast<uint64_t>(format.specials) : 0, 4);
  constant->Append(LowExponentOf(format, kind), 4);
  constant->Append(fields && format.narrow ? 1 : 0, 4);
  constant->Append(fields ? static_cast<uint64_t>(format.rounding) : 0, 4);
  constant->Append(fields ? static_cast<uint64_t>(format.overflow) : 0, 4);
  constant->Append(static_cast<uint64_t>(span.significand_bits), 8);
  constant->Append(static_cast<uint64_t>(SignedBits(span.least_exponent, span.greatest_exponent)),
                   8);
  constant->Append(static_cast<uint64_t>(IntegerBits(format, kind == kTable)), 8);
  constant->Append(steps, 12);
  constant->Append(0, kHeaderBits - constant->bits());
}

// Returns the descriptor kind of a format described by its fields.
Kind KindOf(FormatKind kind) {
  switch (kind) {
    case FormatKind::kInteger:
      return kInteger;
    case FormatKind::kFloat:
      return kFloat;
    case FormatKind::kPosit:
      return kPosit;
    case FormatKind::kCodebook:
      return kTable;
  }
  return kTable;
}

// Returns the descriptor: the header and, for a table, the values and the steps of encoding.
RtlConstant ConstantOf(const Format& format, DescriptorStyle style) {
  RtlConstant constant;
  const Kind kind = style == DescriptorStyle::kTable ? kTable : KindOf(format.kind);
  if (kind != kTable) {
    AppendHeader(format, kind, 0, &constant);
    return constant;
  }
  KILN_CHECK(CanBeTable(format));
  const FormatTable table(format);
  const std::vector<FormatTable::Step> steps = table.Steps();
  KILN_CHECK(!steps.empty() && steps.size() <= kMostSteps);
  AppendHeader(format, kind, steps.size(), &constant);
  for (const float value : table.values())
    constant.Append(std::bit_cast<uint32_t>(value), kValueBits);
  for (const FormatTable::Step& step : steps) {
    constant.Append(step.key, 32);
    constant.Append(step.code, kStepBits - 32);
  }
  return constant;
}

// Returns the descriptor of a quire: its width, the weight of its LSB and the widths of its value.
RtlConstant QuireOf(const Format& input, const Format& weight) {
  constexpr int kFlags = 3;
  constexpr int kSignificandBits = 34;  // fp32's 24 bits, rounding and sticky bits, and some spare
  const ExactProducts products = ExactProductsOf(input, weight);
  const auto bits =
      static_cast<uint64_t>(std::max<int64_t>(products.sum_bits(), kSignificandBits + 1) + kFlags);
  RtlConstant constant;
  constant.Append(kQuire, 4);
  constant.Append(bits, 8);
  constant.Append(1, 4);
  constant.Append(0, 16);
  constant.Append(static_cast<uint64_t>(products.lowest), 16);
  constant.Append(0, 20);
  constant.Append(kSignificandBits, 8);
  constant.Append(
      static_cast<uint64_t>(SignedBits(products.lowest, products.lowest + products.sum_bits())) + 1,
      8);
  constant.Append(0, 20);
  constant.Append(bits >> 8, 4);
  return constant;
}

RtlConstant ConstantOf(const FormatConstant& constant) {
  return constant.weight ? QuireOf(constant.format, *constant.weight)
                         : ConstantOf(constant.format, constant.style);
}

}  // namespace

std::string QuireDescriptor(const Format& input, const Format& weight) {
  return QuireOf(input, weight).Literal(kFormatBits);
}

NumberWidths WidthsOf(const Format& format) {
  const Span span = SpanOf(format);
  return {.significand_bits = span.significand_bits,
          .exponent_bits = SignedBits(span.least_exponent, span.greatest_exponent),
          .integer_bits = IntegerBits(format, KindOf(format.kind) == kTable)};
}

bool CanBeTable(const Format& format) {
  return format.bits <= kMostTableBits && format.rounding != Rounding::kStochastic &&
         format.overflow != Overflow::kWrap;
}

std::string FormatDescriptor(const Format& format, DescriptorStyle style) {
  return ConstantOf(format, style).Literal(kFormatBits);
}

std::string FormatsDescriptor(std::span<const Format> formats) {
  KILN_CHECK(std::ssize(formats) <= kMostListedFormats);
  RtlConstant list;
  for (const Format& format : formats)
    list.Append(ConstantOf(format, DescriptorStyle::kFields), kFormatBits);
  return list.Literal(kMostListedFormats * kFormatBits);
}

std::string FormatConstantName(const Format& format) {
  std::string name = format.name;
  for (char& c : name)
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::toupper(c)) : '_';
  return name;
}

std::string FormatsPackage(const std::string& package, const std::string& comment,
                           const std::vector<FormatConstant>& constants) {
  std::string text = fmt::format(
      "{}package {};\n\n"
      "  // kiln_format_pkg::format_t, written out: Yosys 0.23 does not resolve types of other "
      "packages\n"
      "  // inside a package.\n"
      "  typedef logic [{}:0] format_t;\n\n",
      comment, package, kFormatBits - 1);
  for (const FormatConstant& constant : constants) {
    text += fmt::format("  localparam format_t {} = {};\n", constant.name,
                        ConstantOf(constant).Expression(kFormatBits));
  }
  text += fmt::format(
      "\n  // By index, in the order above.\n"
      "  localparam int COUNT = {};\n"
      "  function automatic format_t format_of(input int index);\n"
      "    case (index)\n",
      constants.size());
  for (size_t i = 0; i < constants.size(); ++i) {
    text += fmt::format("      {}: format_of = {};\n", i, constants[i].name);
  }
  return text + fmt::format(
                    "      default: format_of = {};\n"
                    "    endcase\n"
                    "  endfunction\n\n"
                    "endpackage\n",
                    constants.front().name);
}

std::string NamedFormatsPackage() {
  std::vector<FormatConstant> constants;
  for (const Format& format : AllFormats())
    constants.push_back({.name = FormatConstantName(format), .format = format});
  return FormatsPackage(
      "kiln_named_formats_pkg",
      "// The named number formats. Written by kiln::hardware::NamedFormatsPackage\n"
      "// (src/kiln/hardware/rtl_format.h) from src/kiln/numerics/formats.def; a test compares.\n",
      constants);
}

}  // namespace kiln::hardware
