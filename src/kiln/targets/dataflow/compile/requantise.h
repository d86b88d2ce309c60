// Constants of requantisation from real factors and offsets (Requantise in isa/pipeline.h).
//
//   multiplication   multiplier = round(factor / scale * 2^shift), the largest of all channels with
//                    17 bits; addend = round((offset / scale + zero point + 1/2) * 2^shift). The
//                    result is the nearest code, up to the rounding of the multiplier: at most
//                    |code| * 2^-17 of the largest channel.
//   thresholds       for each code the least sum whose value rounds to it or above: exact, for any
//                    function that does not decrease
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_REQUANTISE_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_REQUANTISE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/compile/lowering.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {

// Returns the requantisation of sums within `range` to codes. Factors must not be negative.
// Errors: refusals, if a constant does not fit.
StatusOr<Requantise> MakeRequantisation(const ChannelLine& line, const ValueCodes& codes,
                                        const SumRange& range, int threshold_bits);

// Returns the requantisation of sums within `range` to two codes: of +size, where the value of the
// sum is not negative, and of -size elsewhere. It is exact. With t, the least such sum, and the two
// codes high and low, it is (high - low) * (sum - t) + high within low and high, or low plus the
// number of thresholds reached: high - low thresholds are t, the others out of reach. Factors must
// not be negative. Errors: refusals, if a constant does not fit.
StatusOr<Requantise> MakeSigns(const ChannelLine& line, double size, const ValueCodes& codes,
                               const SumRange& range, int threshold_bits);

// Sets the constants of an affine stage: x0 f0 + x1 f1 + offset in units of the result's codes.
// Errors: refusals, if a constant does not fit.
Status SetAffine(std::span<const double> factors, double offset, const ValueCodes& codes,
                 double low, double high, Stage* stage);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_REQUANTISE_H_
