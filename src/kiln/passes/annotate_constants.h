#ifndef KILN_PASSES_ANNOTATE_CONSTANTS_H_
#define KILN_PASSES_ANNOTATE_CONSTANTS_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Turns constants that a node quantises into constants of the rounded values, annotated with the node's parameters
// (quantiser.h says which have an annotation): codes behind a DequantizeLinear, floats behind a Quant or BipolarQuant.
// Quantising the new constant by its annotation gives back the very codes; where it would not (a scale so large that
// values overflow), the node stays. Codes of 32 bits (biases) become plain floats, a QuantizeLinear of a constant
// becomes its codes. Transposes and reshapes of annotated constants are carried out, the annotation's axis included.
//   %y = dequantize_linear %codes, %scale      =>      const %y : f32 quant int8 ...
class AnnotateConstants final : public Pass {
 public:
  static constexpr std::string_view kName = "annotate-constants";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ANNOTATE_CONSTANTS_H_
