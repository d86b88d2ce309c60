// Elementary functions in binary64 with the same bits on every processor.
//
// A C library selects its versions of exp, log, pow, sin and others by processor, with and without
// fused multiply-adds, and their last bits differ. Code with results that must be reproducible to
// the bit calls these functions instead. They use only the additions, multiplications, divisions
// and square roots of IEEE 754, in a fixed order.
//
// Errors are a few units in the last place of binary64; tests/numerics/elementary_test.cc states
// the bounds. A result rounded to binary32 is therefore correctly rounded except for about one
// argument in 10^7. Special values are those of C99, annex F, except that no function raises
// floating-point exceptions on purpose.
#ifndef KILN_NUMERICS_ELEMENTARY_H_
#define KILN_NUMERICS_ELEMENTARY_H_

namespace kiln::elementary {

double Exp(double x);
double Exp2(double x);   // exact for integers
double Expm1(double x);  // exp(x) - 1, accurate near zero
double Log(double x);
double Log1p(double x);  // log(1 + x), accurate near zero
double Log2(double x);   // exact for powers of two
double Log10(double x);
// Arguments of any size, in radians, are reduced accurately.
double Sin(double x);
double Cos(double x);
double Tanh(double x);
double Erf(double x);
double Erfc(double x);  // 1 - erf(x), relative error below 1e-12
// Relative error up to 1e-13. Integer exponents up to 64 are evaluated by multiplication.
double Pow(double base, double exponent);

}  // namespace kiln::elementary

#endif  // KILN_NUMERICS_ELEMENTARY_H_
