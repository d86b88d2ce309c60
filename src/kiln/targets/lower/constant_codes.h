// Converts the values of constants to the codes in a machine's memory. All families use these
// functions. The codes are those of execute/codes.h, so that the host computes with the same
// numbers.
#ifndef KILN_TARGETS_LOWER_CONSTANT_CODES_H_
#define KILN_TARGETS_LOWER_CONSTANT_CODES_H_

#include <cstdint>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Returns the annotation with all scales and zero points filled in: 1 and 0 if it has none. The
// axis is -1 if there is a single scale. Block scales that follow from a rule are not filled in.
Quantisation CompleteAnnotation(Quantisation annotation);

// The codes of a constant.
struct ConstantCodes {
  Tensor codes;   // of the values' shape, in CodeElementType of the format
  Tensor scales;  // codes of block scales, with blocks along the annotated axis; else empty
  bool blocked() const { return scales.size() > 0; }
};

// Returns the codes of fp32 values under an annotation.
ConstantCodes QuantiseConstant(const Tensor& values, const Quantisation& annotation);

// Returns the values of the codes, that is, the fp32 values rounded to the annotation. Applies to
// constants and to all other annotated values.
Tensor RoundToAnnotation(const Tensor& values, const Quantisation& annotation);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_CONSTANT_CODES_H_
