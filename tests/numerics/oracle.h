// An oracle for codecs: the values of codes, and the code of a number, from the texts of the
// standards. It works in rational numbers (GMP) with tables of values and searches in them. It
// shares no code with the library except for the names of roundings.
//
//   OFP8  OCP 8-bit Floating Point Specification (OFP8), 1.0
//   MX    OCP Microscaling Formats (MX) Specification, 1.0
//   754   IEEE Std 754-2019
//   PS    Standard for Posit Arithmetic (2022)
#ifndef KILN_TESTS_NUMERICS_ORACLE_H_
#define KILN_TESTS_NUMERICS_ORACLE_H_

#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/numerics/format.h"

namespace kiln::oracle {

// A value of a format, or a number to be rounded to it.
struct Number {
  enum Class { kReal, kInfinite, kNan };
  Class what = kReal;
  bool minus = false;  // the sign bit; of a zero and an infinity, too
  mpq_class value;     // kReal, with its sign
};

Number Real(const mpq_class& value);
Number Product(const Number& a, const Number& b);
Number Sum(const Number& a, const Number& b);

struct Spec {
  enum Kind { kFixed, kFloat, kPosit, kList };
  enum Codes { kAllFinite, kIeeeCodes, kOneNan, kMinusZeroIsNan };
  Kind kind = kFixed;
  int bits = 8;
  bool has_sign = true;
  int exponent = 0;  // bits; posits: es
  int fraction = 0;  // bits; fixed point: binary places
  int bias = 0;
  Codes codes = kIeeeCodes;
  bool subnormals = true;
  bool zero = true;     // floats: whether field 0 means zero and subnormals
  bool narrow = false;  // fixed point: without the least code
  std::vector<mpq_class> list;
};

// Returns the specification of a format by its name (the part before the modifiers), from a table
// in this file; null if there is none.
const Spec* FindSpec(const std::string& name);

class Oracle {
 public:
  explicit Oracle(
      const Format& format);  // takes name, rounding and overflow from it, and whether it flushes

  Number Value(uint64_t code) const { return ValueIn(spec_, code); }
  uint32_t Code(const Number& x, uint32_t random = 0) const;

 private:
  struct Entry {
    mpq_class value;
    uint32_t code = 0;
  };
  static Number ValueIn(const Spec& spec, uint64_t code);

  // Returns the finite values in ascending order, each once.
  int64_t Count() const;
  Entry At(int64_t rank) const;
  int64_t RankBelow(const mpq_class& x)
      const;  // the greatest rank whose value is not above x; -1 when there is none

  uint32_t NanCode() const;
  uint32_t ZeroCode(bool minus) const;
  uint32_t Overflowed(bool minus, bool was_infinite) const;
  uint32_t FixedCode(const Number& x, uint32_t random) const;
  uint32_t FloatCode(const Number& x, uint32_t random) const;
  uint32_t PositCode(const Number& x, uint32_t random) const;
  uint32_t ListCode(const Number& x, uint32_t random) const;
  // Returns whether a number between two neighbours on one side of zero is rounded to the one
  // farther from zero.
  bool GoesOut(const mpq_class& part, bool minus, bool inner_is_even, uint32_t random) const;

  Spec spec_;
  Rounding rounding_;
  Overflow overflow_;
  std::vector<Entry> table_;  // formats of at most 8 bits
};

}  // namespace kiln::oracle

#endif  // KILN_TESTS_NUMERICS_ORACLE_H_
