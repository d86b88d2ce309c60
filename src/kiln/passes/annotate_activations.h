// The pass annotate-activations. AnnotationPipeline runs it after annotate-constants: it replaces
// the quantisers of activations in a network that comes quantised (QDQ, QONNX) by annotations,
// which accelerators execute.
#ifndef KILN_PASSES_ANNOTATE_ACTIVATIONS_H_
#define KILN_PASSES_ANNOTATE_ACTIVATIONS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Turns nodes that quantise activations into annotations: QuantizeLinear followed by
// DequantizeLinear, and Quant. Applies to per-tensor scales that have an annotation (quantiser.h).
//   %q = quantize_linear %x    %y = dequantize_linear %q
//     =>   %x quant int8 ..., and %x in place of %y
// Where the rounding must be kept, an Identity with the annotation on both sides stays: where only
// element-wise operators follow, which hardware would fuse with the node that computes %x into one
// kernel that rounds only at its end. Before a Relu the rounding moves below it, which gives the
// same values. If %x has other users that read it unrounded or rounded differently, only the
// Identity's result is annotated. A DequantizeLinear of other codes (graph inputs) gets its result
// annotated. A Clip, or Max and Min, that bounds %x to the codes of a narrower type (int6 in int8,
// int8 from -127 on) goes into the annotation.
// A BipolarQuant with one scale becomes multiplications and bounds that compute exactly +scale or
// -scale, annotated int2.
class AnnotateActivations final : public Pass {
 public:
  static constexpr std::string_view kName = "annotate-activations";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ANNOTATE_ACTIVATIONS_H_
