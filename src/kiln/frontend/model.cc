// Implements LoadModel.
#include "kiln/frontend/model.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

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

// Collects the tensors of a model that lie in files of their own. Graphs are nested no deeper than
// the reader allows.
class ExternalTensors {
 public:
  explicit ExternalTensors(const onnx::ModelProto& model) {
    Add(model.graph());
    for (const auto& function : model.functions()) {
      for (const auto& node : function.node()) Add(node);
    }
  }
  const std::vector<const onnx::TensorProto*>& all() const { return all_; }

 private:
  void Add(const onnx::TensorProto& tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) all_.push_back(&tensor);
  }
  void Add(const onnx::SparseTensorProto& tensor) {
    Add(tensor.values());
    Add(tensor.indices());
  }
  void Add(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) Add(tensor);
    for (const auto& tensor : graph.sparse_initializer()) Add(tensor);
    for (const auto& node : graph.node()) Add(node);
  }
  void Add(const onnx::NodeProto& node) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) Add(attribute.t());
      if (attribute.has_g()) Add(attribute.g());
      if (attribute.has_sparse_tensor()) Add(attribute.sparse_tensor());
      for (const auto& tensor : attribute.tensors()) Add(tensor);
      for (const auto& graph : attribute.graphs()) Add(graph);
      for (const auto& tensor : attribute.sparse_tensors()) Add(tensor);
    }
  }

  std::vector<const onnx::TensorProto*> all_;
};

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
  if (extension.empty()) KILN_RETURN_IF_ERROR(InputFile::Open(path).status());
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
  if (const ExternalTensors external(model); !external.all().empty()) {
    return UnsupportedAt(
        path.string(), fmt::format("tensor {}", QuotedExcerpt(external.all().front()->name())),
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

std::vector<std::filesystem::path> ExternalFilesOf(const std::filesystem::path& path) {
  onnx::ModelProto model;
  if (ExtensionOf(path) != ".onnx" || !ParseOnnxFile(path, &model).ok()) return {};
  const ExternalTensors external(model);
  std::set<std::filesystem::path> files;
  for (const onnx::TensorProto* tensor : external.all()) {
    for (const auto& entry : tensor->external_data()) {
      if (entry.key() == "location") files.insert(path.parent_path() / entry.value());
    }
  }
  return {files.begin(), files.end()};
}

}  // namespace kiln
