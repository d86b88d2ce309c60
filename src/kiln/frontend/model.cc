// Implements LoadModel.
#include "kiln/frontend/model.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "fmt/format.h"
#include "kiln/frontend/onnx_file.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// Returns the extension in lower case.
std::string ExtensionOf(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

// Reads a network without cleaning it up.
StatusOr<Graph> ReadModel(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string extension = ExtensionOf(path);
  if (extension == ".onnx") return ImportOnnx(path, options.import);
  if (extension == ".kir") {
    if (!options.import.shapes.empty()) {
      return ErrorAt(path.string(), "--shape", "sets dimensions of ONNX models only",
                     "IR text says its shapes itself");
    }
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kGraphTextBytes));
    return ParseGraph(text, path.string());
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return ErrorAt(path.string(), "", "is a folder", "name a network: .onnx, or .kir");
  return ErrorAt(path.string(), "", "is not a network by its extension " + QuotedExcerpt(extension),
                 "networks are .onnx, or .kir for Kiln's text form");
}

}  // namespace

StatusOr<Graph> LoadModel(const std::filesystem::path& path, const LoadOptions& options) {
  KILN_ASSIGN_OR_RETURN(Graph graph, ReadModel(path, options));
  if (options.clean_up) {
    PassContext context;
    KILN_RETURN_IF_ERROR(RunPasses(graph, CleanUpPipeline(), context));
    // Folded constants may make further shapes known.
    KILN_RETURN_IF_ERROR(InferShapes(graph));
  }
  KILN_RETURN_IF_ERROR(Verify(graph));
  return graph;
}

StatusOr<std::string> ModelWithMetadata(const std::filesystem::path& path, const std::string& key,
                                        const std::string& value) {
  if (ExtensionOf(path) != ".onnx") {
    KILN_ASSIGN_OR_RETURN(Graph graph, ReadModel(path, {}));
    graph.metadata()[key] = value;
    return PrintGraph(graph);
  }
  onnx::ModelProto model;
  KILN_RETURN_IF_ERROR(ParseOnnxFile(path, &model));
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    return UnsupportedAt(
        path.string(), fmt::format("initializer {}", QuotedExcerpt(tensor.name())),
        "lies in a file of its own, which a model in another folder would not find",
        "a model with its weights inside");
  }
  onnx::StringStringEntryProto* property = nullptr;
  for (auto& entry : *model.mutable_metadata_props()) {
    if (entry.key() == key) property = &entry;
  }
  if (property == nullptr) property = model.add_metadata_props();
  property->set_key(key);
  property->set_value(value);
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return ErrorAt(path.string(), "", "is too large for an ONNX file", "at most 2 GiB");
  return bytes;
}

}  // namespace kiln
