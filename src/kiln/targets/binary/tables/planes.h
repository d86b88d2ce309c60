// Weights of 1 to 16 bits as planes of +1 and -1, and activations of 1 to 16 bits as digits of
// four.
//
// A weight w of I bits has planes c_0 .. c_(I-1), each +1 or -1, with C = sum of 2^i c_i and
//   signed    -2^(I-1) .. 2^(I-1) - 1     2 w = C - 1         c_i from the bits of w + 2^(I-1)
//   unsigned  0 .. 2^I - 1                2 w = C + 2^I - 1   c_i from the bits of w
//   odd       -(2^I - 1) .. 2^I - 1, odd    w = C             c_i from (w + 2^I - 1) / 2
// so a sum of products is
//   scale * sum of w x = sum of 2^i (sum of c_i x) + offset * sum of x.
// The last term does not depend on the output channel: it is one look-up of each group with all
// weights +1.
//
// An activation x has digits d_q with x = sum of 16^q d_q. All digits are 0 .. 15, except that the
// last one has the bits that are left and, in two's complement, the sign.
#ifndef KILN_TARGETS_BINARY_TABLES_PLANES_H_
#define KILN_TARGETS_BINARY_TABLES_PLANES_H_

#include <cstdint>
#include <string>

namespace kiln::binary {

inline constexpr int kMaxBits = 16;
inline constexpr int kDigitBits = 4;  // of an activation, looked up at a time

enum class WeightCoding { kSigned, kUnsigned, kOdd };

// Weights of one coding and width. The lowest and highest weight follow from the table above.
struct WeightFormat {
  WeightCoding coding = WeightCoding::kOdd;
  int bits = 1;  // 1 .. kMaxBits, and the number of planes

  int32_t lowest() const;
  int32_t highest() const;
  int64_t scale() const { return coding == WeightCoding::kOdd ? 1 : 2; }
  int64_t offset() const;
  bool Holds(int32_t weight) const;
  // Returns the planes of a weight: bit i is 1 where c_i = +1.
  uint32_t PlanesOf(int32_t weight) const;
  // Describes the values, as "odd values from -3 to 3".
  std::string Describe() const;
};

struct ActivationFormat {
  bool is_signed = false;  // two's complement
  int bits = 8;            // 1 .. kMaxBits

  int32_t lowest() const { return is_signed ? -(1 << (bits - 1)) : 0; }
  int32_t highest() const { return (1 << (is_signed ? bits - 1 : bits)) - 1; }
  int digits() const { return (bits + kDigitBits - 1) / kDigitBits; }
  // Returns digit q of a value, and the least and greatest value of that digit.
  int32_t DigitOf(int32_t value, int q) const;
  int32_t LowestDigit(int q) const;
  int32_t HighestDigit(int q) const;
};

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TABLES_PLANES_H_
