// Runs lists of passes: skip list, bisection limit, verification, log and dumps are handled in one
// place. Also defines the four pipelines that import, the reference level and the families use.
#ifndef KILN_PASSES_PIPELINE_H_
#define KILN_PASSES_PIPELINE_H_

#include <filesystem>
#include <span>
#include <string_view>

#include "kiln/passes/pass.h"

namespace kiln {

// Runs the named passes in order. Errors: an unknown name in `names` or context.skip; a graph that
// does not verify, before the first pass or after one (the message names the pass); any error of a
// pass or of on_step. After an error the graph is valid but may be partly transformed.
Status RunPasses(Graph& graph, std::span<const std::string_view> names, PassContext& context);

// Import clean-up: removes exporters' detours and keeps the network as its author meant it.
std::span<const std::string_view> CleanUpPipeline();
// Clean-up, folding of batch normalisation, patterns, canonical forms
// (docs/passes.md#canonical-forms).
std::span<const std::string_view> StandardPipeline();
// Turns the quantisers of a network that comes quantised (QDQ, QOperator, QONNX) into annotations,
// for accelerators. Expects a graph that went through StandardPipeline. The reference level does
// not execute annotations and runs the graph before this pipeline.
std::span<const std::string_view> AnnotationPipeline();
// Moves a graph to NHWC, for accelerators. Expects a graph that went through StandardPipeline.
std::span<const std::string_view> LayoutPipeline();

// Returns an on_step that writes the text form of the graph (ir/text.h) to
// <directory>/<step>-<pass>.kir after each pass that changed it. The directory must exist.
std::function<Status(int, const PassRun&, const Graph&)> DumpStepsTo(
    std::filesystem::path directory);

}  // namespace kiln

#endif  // KILN_PASSES_PIPELINE_H_
