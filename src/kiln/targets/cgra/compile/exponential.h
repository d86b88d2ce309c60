// Powers of two of codes in fixed point, as multiplications, shifts and additions of 32 bits.
//
// With u = factor * q + constant, a number with `point` bits after the binary point,
//
//   f = the 16 bits after the point of u, whole = u >> point
//   m = 2^16 + f c1 + f^2 c2 + f^3 c3 + f^4 c4     2^f with 16 bits after the point, by Horner's
//                                                  scheme; every product is shifted back by 16
//   h = min(15 + lift - whole, 31)
//   y = (((m << lift) >> h) + 1) >> 1              2^u, rounded to nearest, ties up
//
// The polynomial is within 2^-17 of 2^f, and each of the shifts loses less than one unit of 2^-16.
#ifndef KILN_TARGETS_CGRA_COMPILE_EXPONENTIAL_H_
#define KILN_TARGETS_CGRA_COMPILE_EXPONENTIAL_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "kiln/targets/cgra/compile/graph_builder.h"
#include "kiln/targets/cgra/compile/value_codes.h"

namespace kiln::cgra {

struct Exponential {
  int32_t factor = 0, constant = 0;
  int point = 16;                   // 16 to 28
  std::optional<int32_t> greatest;  // u is held to at most this number
  int lift = 0;
  bool holds_shift = false;  // whether h can exceed 31, so that the graph takes the lesser
  int32_t slope = 0;         // c1
};

// Returns the form of round(2^(rate * q + offset)) for the codes q in [low, high], held to less
// than 2^most_bits, with most_bits up to 24. Returns nullopt if 16 bits after the point do not fit.
// The rounding of `factor` moves the result of a far code, so that callers check what they need.
std::optional<Exponential> MakeExponential(double rate, double offset, int32_t low, int32_t high,
                                           int most_bits);

// Returns y of a code.
int32_t ValueAt(const Exponential& form, int32_t code);

// The exponential function between codes: y = clamp(round(exp(x) / scale) + zero).
struct CodeExponential {
  Exponential form;
  int codes_off = 0;  // codes whose result is not the nearest one, but the one beside it
};
// Returns the form with the fewest codes off, of those with nearby constants; for 8 bits it is
// nearly always 0. Returns nullopt if no form is within one code of the exact exponential.
std::optional<CodeExponential> FitExponential(const ValueCodes& from, const ValueCodes& to);
// Returns the result of a code.
int32_t CodeAt(const Exponential& form, const ValueCodes& to, int32_t code);

// Appends y of a value, plus `zero`. Names begin with `name`.
int AppendExponential(const Exponential& form, std::string_view name, int value, int32_t zero,
                      GraphBuilder* graph);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_EXPONENTIAL_H_
