// The pass annotate-constants. AnnotationPipeline runs it after expand-integer-operators and before
// annotate-activations.
#ifndef KILN_PASSES_ANNOTATE_CONSTANTS_H_
#define KILN_PASSES_ANNOTATE_CONSTANTS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Replaces constants that a node quantises by constants of the rounded values, annotated with the
// node's parameters (quantiser.h lists the nodes that have an annotation): codes before a
// DequantizeLinear, floats before a Quant or BipolarQuant. Quantising the new constant by its
// annotation yields exactly the same codes; if it would not (a scale so large that values
// overflow), the node stays. Codes of 32 bits (biases) become plain floats; a QuantizeLinear of a
// constant becomes its codes. Codes with scales per block become floats, annotated if the scales
// are those that Kiln's block types find (mxint8, or int8 with scales of fp32). Transposes
// and reshapes of annotated constants are evaluated, including the annotation's axis.
//   %y = dequantize_linear %codes, %scale      =>      const %y : f32 quant int8 ...
class AnnotateConstants final : public Pass {
 public:
  static constexpr std::string_view kName = "annotate-constants";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ANNOTATE_CONSTANTS_H_
