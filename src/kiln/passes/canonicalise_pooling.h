// The pass canonicalise-pooling. StandardPipeline runs it after the pattern passes, which need
// ReduceMean to find normalisations.
#ifndef KILN_PASSES_CANONICALISE_POOLING_H_
#define KILN_PASSES_CANONICALISE_POOLING_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Replaces a mean over the plane of a rank-4 value by GlobalAveragePool, followed by a Reshape if
// the mean dropped the two axes.
//   %1 = reduce_mean %x, [2, 3] {keepdims=0}
//     =>   %2 = global_average_pool %x     %1 = reshape %2, [1, 64]
class CanonicalisePooling final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-pooling";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_POOLING_H_
