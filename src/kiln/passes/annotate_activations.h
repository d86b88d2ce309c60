#ifndef KILN_PASSES_ANNOTATE_ACTIVATIONS_H_
#define KILN_PASSES_ANNOTATE_ACTIVATIONS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Turns nodes that quantise activations into annotations: QuantizeLinear with the DequantizeLinear behind it, and
// Quant. Applies to scales per tensor that have an annotation (quantiser.h).
//   %q = quantize_linear %x    %y = dequantize_linear %q      =>      %x quant int8 ..., and %x in place of %y
// Where nobody may take the rounding away, an Identity with the annotation on both sides stays: before element-wise
// operators, which hardware would join with what makes %x into one kernel, rounded at its end only. Only before a Relu
// it moves behind, which gives the same values. Where %x has other users that see it unrounded, or rounded in another
// way, the annotation is on the Identity's result alone. Other codes that a DequantizeLinear reads (graph inputs)
// annotate its result.
// A BipolarQuant with one scale becomes multiplications and bounds that give +scale or -scale exactly, annotated int2.
class AnnotateActivations final : public Pass {
 public:
  static constexpr std::string_view kName = "annotate-activations";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ANNOTATE_ACTIVATIONS_H_
