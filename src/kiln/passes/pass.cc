// Builds the table of passes from passes.def. It includes the header of every pass, so a new pass
// adds its header here.
#include "kiln/passes/pass.h"

#include <algorithm>
#include <array>

#include "kiln/passes/annotate_activations.h"
#include "kiln/passes/annotate_constants.h"
#include "kiln/passes/canonicalise_arithmetic.h"
#include "kiln/passes/canonicalise_linear.h"
#include "kiln/passes/canonicalise_pooling.h"
#include "kiln/passes/canonicalise_reshapes.h"
#include "kiln/passes/canonicalise_windows.h"
#include "kiln/passes/decompose_batch_norm.h"
#include "kiln/passes/eliminate_common_subexpressions.h"
#include "kiln/passes/eliminate_dead_code.h"
#include "kiln/passes/eliminate_identities.h"
#include "kiln/passes/expand_einsum.h"
#include "kiln/passes/expand_integer_operators.h"
#include "kiln/passes/fold_batch_norm.h"
#include "kiln/passes/fold_constants.h"
#include "kiln/passes/fold_pad.h"
#include "kiln/passes/fold_scale_shift.h"
#include "kiln/passes/fold_shapes.h"
#include "kiln/passes/layout_nhwc.h"
#include "kiln/passes/recognise_attention.h"
#include "kiln/passes/recognise_gelu.h"
#include "kiln/passes/recognise_hard_swish.h"
#include "kiln/passes/recognise_layer_norm.h"
#include "kiln/passes/recognise_rms_norm.h"
#include "kiln/passes/recognise_rope.h"
#include "kiln/passes/recognise_swiglu.h"
#include "kiln/passes/spread_annotations.h"

namespace kiln {
namespace {

template <typename T>
std::unique_ptr<Pass> Create() {
  return std::make_unique<T>();
}

#define KILN_PASS(type, name, summary)                                   \
  static_assert(type::kName == name,                                     \
                "the class and its row in passes.def must agree on the " \
                "name");
#include "kiln/passes/passes.def"
#undef KILN_PASS

constexpr PassInfo kPasses[] = {
#define KILN_PASS(type, name, summary) {name, summary, &Create<type>},
#include "kiln/passes/passes.def"
#undef KILN_PASS
};

}  // namespace

std::span<const PassInfo> AllPasses() { return kPasses; }

const PassInfo* FindPass(std::string_view name) {
  const auto row = std::find_if(std::begin(kPasses), std::end(kPasses),
                                [&](const PassInfo& p) { return p.name == name; });
  return row == std::end(kPasses) ? nullptr : &*row;
}

}  // namespace kiln
