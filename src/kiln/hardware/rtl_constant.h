// Wide constants of SystemVerilog, built field by field.
#ifndef KILN_HARDWARE_RTL_CONSTANT_H_
#define KILN_HARDWARE_RTL_CONSTANT_H_

#include <cstdint>
#include <string>

namespace kiln::hardware {

class RtlConstant {
 public:
  // The next `bits` bits above all that are there: the lowest of value. A multiple of 4, at most 64.
  void Append(uint64_t value, int bits);
  // Another constant, with zeros up to `width` bits, a multiple of 4.
  void Append(const RtlConstant& constant, int width);
  int bits() const { return static_cast<int>(digits_.size()) * 4; }

  // The constant with zeros up to `width` bits, which is not less than bits(): as one literal, 64'h2a, and as an
  // expression that may go on over lines of 64 digits, indented by four.
  std::string Literal(int width) const;
  std::string Expression(int width) const;

 private:
  std::string Text() const;  // the digits, highest first, without leading zeros

  std::string digits_;  // lowest first
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_CONSTANT_H_
