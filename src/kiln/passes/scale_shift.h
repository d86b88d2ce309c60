// A scale and a shift per channel, y = scale * x + shift. This is batch normalisation at inference,
// and a preceding convolution, Gemm or MatMul can absorb it into its weights and bias.
// fold-batch-norm, decompose-batch-norm and fold-scale-shift use it.
#ifndef KILN_PASSES_SCALE_SHIFT_H_
#define KILN_PASSES_SCALE_SHIFT_H_

#include <optional>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// One scale and one shift per channel, in fp64.
struct ScaleShift {
  std::vector<double> scale;  // one per channel
  std::vector<double> shift;  // one per channel
};

// Returns scale and shift of a BatchNormalization node in inference form with fp32 constants,
// otherwise nullopt.
std::optional<ScaleShift> ScaleShiftOf(const Node& batch_norm);

// Returns the number of output channels of a Conv, ConvTranspose, Gemm or MatMul (rank-2 b) that
// can absorb a ScaleShift: weights and, if present, bias are fp32 constants. Otherwise returns 0.
int64_t FoldableChannels(const Node& linear);
// Returns the channel axis of the result, counted from the end: -1 for the last, e.g. -3 for NCHW.
// Requires FoldableChannels > 0 and, for Conv and ConvTranspose, weights of rank 3 or more.
int ChannelAxisFromEnd(const Node& linear);

// Folds y = scale * linear(x) + shift into weights and bias, in fp64 with one rounding to fp32. A
// MatMul has no bias: it takes only the scale, and the caller must handle the shift. Requires
// FoldableChannels == scale.size().
void FoldInto(Graph& graph, Node& linear, const ScaleShift& by);

}  // namespace kiln

#endif  // KILN_PASSES_SCALE_SHIFT_H_
