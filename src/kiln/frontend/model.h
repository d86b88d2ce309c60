// Loads networks from files, ready for use: read, cleaned up, verified. The commands load their
// networks through LoadModel.
#ifndef KILN_FRONTEND_MODEL_H_
#define KILN_FRONTEND_MODEL_H_

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// How a network is loaded.
struct LoadOptions {
  ImportOptions import;  // .onnx only
  // Runs the clean-up pipeline (passes/pipeline.h): folds shape arithmetic and constants and
  // removes dead nodes and exporters' detours, so that every shape that follows from the inputs'
  // shapes is known.
  bool clean_up = true;
};

// Reads a network; the extension decides the format: .onnx, or .kir for Kiln's text form. The
// result verifies (ir/verifier.h).
//   errors  an unknown extension; any error of the reader, a pass or the verifier
StatusOr<Graph> LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

// Returns the bytes of a network's file with one property of its metadata set (Graph::metadata).
// All else is as in the file, but for the layout and comments of IR text, which is printed anew.
//   errors  an unknown extension; any error of the reader; an ONNX model with weights in files of
//           their own, which a model in another folder would not find
StatusOr<std::string> ModelWithMetadata(const std::filesystem::path& path, const std::string& key,
                                        const std::string& value);

// Returns the files beside an ONNX model in which some of its tensors lie, as the model names them;
// none if the model cannot be read, which LoadModel reports.
std::vector<std::filesystem::path> ExternalFilesOf(const std::filesystem::path& path);

}  // namespace kiln

#endif  // KILN_FRONTEND_MODEL_H_
