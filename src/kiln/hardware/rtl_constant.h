// Wide SystemVerilog constants that are built field by field, for format descriptors (rtl_format.h)
// and spline tables (rtl_spline.h).
#ifndef KILN_HARDWARE_RTL_CONSTANT_H_
#define KILN_HARDWARE_RTL_CONSTANT_H_

#include <cstdint>
#include <string>

namespace kiln::hardware {

// A constant of any width, a multiple of 4 bits. Fields are appended from the LSB upwards.
class RtlConstant {
 public:
  // Appends the lowest `bits` bits of `value` above all present bits. `bits` must be a multiple of
  // 4, at most 64.
  void Append(uint64_t value, int bits);
  // Appends another constant, zero-extended to `width` bits, a multiple of 4.
  void Append(const RtlConstant& constant, int width);
  int bits() const { return static_cast<int>(digits_.size()) * 4; }

  // Return the constant zero-extended to `width` bits, at least bits(). Literal returns one
  // literal, 64'h2a; Expression may be a concatenation over several lines of 64 digits, indented by
  // four.
  std::string Literal(int width) const;
  std::string Expression(int width) const;

 private:
  std::string Text() const;  // the digits, highest first, without leading zeros

  std::string digits_;  // hexadecimal, lowest first
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_CONSTANT_H_
