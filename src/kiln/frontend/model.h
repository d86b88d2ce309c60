// Networks from files, ready to work with: read, cleaned up, verified.
#ifndef KILN_FRONTEND_MODEL_H_
#define KILN_FRONTEND_MODEL_H_

#include <filesystem>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

struct LoadOptions {
  ImportOptions import;  // .onnx only
  // Runs the clean-up pipeline (passes/pipeline.h): shape arithmetic and constants folded, dead nodes and exporters'
  // detours gone, so that every shape that follows from the inputs' shapes is known.
  bool clean_up = true;
};

// Reads a network by its file's extension: .onnx, or .kir for Kiln's text form. The result verifies (ir/verifier.h).
//   errors  an unknown extension; whatever the reader, a pass or the verifier reports
StatusOr<Graph> LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace kiln

#endif  // KILN_FRONTEND_MODEL_H_
