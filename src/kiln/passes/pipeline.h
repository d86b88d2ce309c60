// Runs passes one after another: skip list, bisect limit, verification, log and dumps in one place.
#ifndef KILN_PASSES_PIPELINE_H_
#define KILN_PASSES_PIPELINE_H_

#include <filesystem>
#include <span>
#include <string_view>

#include "kiln/passes/pass.h"

namespace kiln {

// Runs the named passes in order. Errors: a name that is no pass (in `names` or in context.skip); a graph that does not
// verify, before the first pass or after one (the message names the pass); whatever a pass or on_step reports. After an
// error the graph is whole but may be half transformed.
Status RunPasses(Graph& graph, std::span<const std::string_view> names, PassContext& context);

// Import clean-up: the network as its author meant it, without the exporter's detours.
std::span<const std::string_view> CleanUpPipeline();
// Clean-up, batch normalisation folded, patterns recognised, canonical forms (docs/passes.md#canonical-forms).
std::span<const std::string_view> StandardPipeline();
// Quantisers of a network that brings its own (QDQ, QOperator, QONNX) to annotations, for accelerators; expects a graph
// that went through StandardPipeline. The reference level, which knows no annotations, runs the graph before it.
std::span<const std::string_view> AnnotationPipeline();
// To NHWC, for accelerators; expects a graph that went through StandardPipeline.
std::span<const std::string_view> LayoutPipeline();

// An on_step that writes the text form of the graph (ir/text.h) to <directory>/<step>-<pass>.kir after each pass that
// changed it. The directory must exist.
std::function<Status(int, const PassRun&, const Graph&)> DumpStepsTo(
    std::filesystem::path directory);

}  // namespace kiln

#endif  // KILN_PASSES_PIPELINE_H_
