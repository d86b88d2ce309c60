// Implements RunPasses and lists the pipelines. The order of each list matters; comments give the
// reason where it is not obvious.
#include "kiln/passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// Returns an error that lists all passes unless `name` is one of them. `what` says where it was
// given.
Status CheckName(std::string_view name, std::string_view what) {
  if (FindPass(name) != nullptr) return OkStatus();
  std::string known;
  for (const PassInfo& pass : AllPasses())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
  return NotFoundAt("", what, fmt::format("there is no pass '{}'", name), "known passes: " + known);
}

}  // namespace

Status RunPasses(Graph& graph, std::span<const std::string_view> names, PassContext& context) {
  for (const std::string_view name : names) KILN_RETURN_IF_ERROR(CheckName(name, "pipeline"));
  for (const std::string& name : context.skip) KILN_RETURN_IF_ERROR(CheckName(name, "--skip-pass"));

  if (context.verify) KILN_RETURN_IF_ERROR(Verify(graph));
  int step = 0;
  for (const std::string_view name : names) {
    PassRun run{.pass = std::string(name), .nodes_before = graph.num_nodes()};
    run.skipped = (context.max_steps >= 0 && step >= context.max_steps) ||
                  std::find(context.skip.begin(), context.skip.end(), name) != context.skip.end();
    if (!run.skipped) {
      const auto start = std::chrono::steady_clock::now();
      const StatusOr<Changed> changed = FindPass(name)->create()->Run(graph, context);
      if (!changed.ok()) return WithContext(fmt::format("pass {}", name), changed.status());
      run.changed = *changed;
      run.milliseconds =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count();
    }
    run.nodes_after = graph.num_nodes();
    if (context.verify && run.changed == Changed::kYes) {
      KILN_RETURN_IF_ERROR(WithContext(fmt::format("after pass {}", name), Verify(graph)));
    }
    context.log.push_back(run);
    if (!run.skipped && context.on_step) KILN_RETURN_IF_ERROR(context.on_step(step, run, graph));
    ++step;
  }
  return OkStatus();
}

// fold-shapes comes before fold-constants, which evaluates what has become constant; both create
// new identities.
#define KILN_CLEAN_UP                                                             \
  "eliminate-dead-code", "eliminate-identities", "fold-shapes", "fold-constants", \
      "eliminate-identities", "eliminate-common-subexpressions", "eliminate-dead-code"

std::span<const std::string_view> CleanUpPipeline() {
  static constexpr auto kNames = std::to_array<std::string_view>({KILN_CLEAN_UP});
  return kNames;
}

std::span<const std::string_view> StandardPipeline() {
  static constexpr auto kNames = std::to_array<std::string_view>({
      KILN_CLEAN_UP,
      "expand-einsum",
      "eliminate-identities",
      // Canonicalise arithmetic before the pattern passes, which then match a single spelling of
      // "times a constant".
      "canonicalise-windows",
      "canonicalise-arithmetic",
      "fold-pad",
      // First fold what is between a convolution and its batch normalisation, then the
      // normalisation; decompose what is left of it last.
      "fold-scale-shift",
      "fold-batch-norm",
      "decompose-batch-norm",
      "fold-scale-shift",
      "recognise-gelu",
      "recognise-hard-swish",
      "recognise-layer-norm",
      "recognise-rms-norm",
      "recognise-rope",
      "recognise-swiglu",
      "recognise-attention",
      "canonicalise-pooling",
      "canonicalise-linear",
      "fold-scale-shift",
      "canonicalise-reshapes",
      KILN_CLEAN_UP,
  });
  return kNames;
}

std::span<const std::string_view> AnnotationPipeline() {
  static constexpr auto kNames = std::to_array<std::string_view>({
      "expand-integer-operators",
      "annotate-constants",
      "annotate-activations",
      // A value after a quantiser may be constant now.
      "canonicalise-arithmetic",
      "canonicalise-linear",
      KILN_CLEAN_UP,
  });
  return kNames;
}

std::span<const std::string_view> LayoutPipeline() {
  static constexpr auto kNames = std::to_array<std::string_view>({
      "layout-nhwc",
      "fold-constants",
      "eliminate-identities",
      "eliminate-common-subexpressions",
      "eliminate-dead-code",
      "spread-annotations",
  });
  return kNames;
}

#undef KILN_CLEAN_UP

std::function<Status(int, const PassRun&, const Graph&)> DumpStepsTo(
    std::filesystem::path directory) {
  return [directory = std::move(directory)](int step, const PassRun& run, const Graph& graph) {
    if (run.changed == Changed::kNo) return OkStatus();
    return WriteFile(directory / fmt::format("{:02}-{}.kir", step, run.pass), PrintGraph(graph));
  };
}

}  // namespace kiln
