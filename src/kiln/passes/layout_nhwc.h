// The pass layout-nhwc, the first of LayoutPipeline: accelerators read activations in NHWC, whereas
// ONNX models are in NCHW.
#ifndef KILN_PASSES_LAYOUT_NHWC_H_
#define KILN_PASSES_LAYOUT_NHWC_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Moves convolutional networks to NHWC, the layout that accelerators read. 2-D Conv, MaxPool,
// AveragePool and the global pools get layout="nhwc" and Transposes around them. The Transposes
// then move down through every operator that works in either layout (element-wise operators,
// Concat, Split, Slice, Pad, Reduce*, Softmax; constants are laid out anew) and cancel where they
// meet. A Transpose that moves no element (one channel, or a 1x1 plane) becomes a Reshape. If its
// result is flattened into a MatMul with constant weights, the rows of the weights are permuted
// instead. Graph inputs and outputs keep their layout.
//   %1 = conv %x, %w     %2 = relu %1     %3 = conv %2, %v
//     =>   %4 = transpose %x {perm=[0, 2, 3, 1]}   %1 = conv %4, %w {layout="nhwc"}   %2 = relu %1
//          %3 = conv %2, %v {layout="nhwc"}   %5 = transpose %3 {perm=[0, 3, 1, 2]}
class LayoutNhwc final : public Pass {
 public:
  static constexpr std::string_view kName = "layout-nhwc";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_LAYOUT_NHWC_H_
