// y = scale * x + shift, one scale and one shift per channel: what batch normalisation is at inference, and what a
// convolution, Gemm or MatMul before it can take into its weights and bias.
#ifndef KILN_PASSES_SCALE_SHIFT_H_
#define KILN_PASSES_SCALE_SHIFT_H_

#include <optional>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

struct ScaleShift {
  std::vector<double> scale;  // one per channel
  std::vector<double> shift;  // one per channel
  bool IsScaleOnly() const;   // every shift is 0
};

// Scale and shift of a BatchNormalization node in inference form with fp32 constants; nullopt otherwise.
std::optional<ScaleShift> ScaleShiftOf(const Node& batch_norm);

// Output channels of a Conv, ConvTranspose, Gemm or MatMul (rank-2 b) whose weights, and bias where present, are fp32
// constants that can take a ScaleShift in; 0 when the node is none of these.
int64_t FoldableChannels(const Node& linear);
// The axis of the result that the channels run along, counted from the end (-1: last), e.g. -3 for NCHW.
// Requires FoldableChannels > 0 and, for Conv and ConvTranspose, weights of rank 3 or more.
int ChannelAxisFromEnd(const Node& linear);

// Folds y = scale * linear(x) + shift into weights and bias: in fp64, rounded once to fp32. A MatMul has no bias: it
// takes the scale only, and the caller must see to the shift. Requires FoldableChannels == scale.size().
void FoldInto(Graph& graph, Node& linear, const ScaleShift& by);

}  // namespace kiln

#endif  // KILN_PASSES_SCALE_SHIFT_H_
