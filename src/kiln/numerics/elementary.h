// Elementary functions in binary64 that give the same bits on every processor.
//
// A C library chooses its versions of exp, log, pow, sin and others by the processor, with and without fused
// multiply-adds, and their last bits differ. Whatever decides the bits of a result calls these functions instead: they
// use additions, multiplications, divisions and square roots of IEEE 754 alone, in a fixed order.
//
// Errors are a few units in the last place of binary64 (tests/numerics/elementary_test.cc states them), so that a
// result rounded to binary32 is the correctly rounded one but for about one argument in 10^7. Special values are those
// of C99's annex F, except that no function raises floating-point exceptions on purpose.
#ifndef KILN_NUMERICS_ELEMENTARY_H_
#define KILN_NUMERICS_ELEMENTARY_H_

namespace kiln::elementary {

double Exp(double x);
double Exp2(double x);   // exact for integers
double Expm1(double x);  // exp(x) - 1
double Log(double x);
double Log1p(double x);  // log(1 + x)
double Log2(double x);   // exact for powers of two
double Log10(double x);
double Sin(double x);  // arguments of any size are reduced exactly
double Cos(double x);
double Tanh(double x);
double Erf(double x);
double Erfc(double x);  // 1 - erf(x), a relative error below 1e-12
double Pow(
    double base,
    double exponent);  // relative error up to 1e-13; integer exponents up to 64 by multiplication

}  // namespace kiln::elementary

#endif  // KILN_NUMERICS_ELEMENTARY_H_
