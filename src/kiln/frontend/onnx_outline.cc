// Implements onnx_outline.h.
#include "kiln/frontend/onnx_outline.h"

#include <fmt/format.h>
#include <algorithm>

#include <set>

#include "kiln/frontend/onnx_file.h"
#include "kiln/frontend/onnx_rules.h"
#include "kiln/frontend/onnx_schedule.h"
#include "kiln/frontend/onnx_tensor.h"
#include "kiln/ir/checked_math.h"

namespace kiln {
namespace {

// Returns "image f32 1x3x?x?" for an input or output.
std::string Describe(const onnx::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) return info.name() + " (not a tensor)";
  const auto& tensor = info.type().tensor_type();
  const auto element = FindElementTypeByOnnxCode(tensor.elem_type());
  std::string text =
      info.name() + " " +
      (element.has_value() ? std::string(NameOf(*element)) : OnnxTypeName(tensor.elem_type()));
  if (!tensor.has_shape()) return text + " of unknown shape";
  std::string shape;
  for (const auto& dim : tensor.shape().dim()) {
    shape += shape.empty() ? "" : "x";
    shape += dim.has_dim_value()       ? fmt::format("{}", dim.dim_value())
             : dim.dim_param().empty() ? "?"
                                       : dim.dim_param();
  }
  return text + " " + (shape.empty() ? "scalar" : shape);
}

// Collects the outline of one model.
class Outliner {
 public:
  explicit Outliner(const onnx::ModelProto& model) : model_(model) {}

  OnnxOutline Run() {
    out_.ir_version = model_.ir_version();
    for (const auto& opset : model_.opset_import())
      out_.opsets[CanonicalDomain(opset.domain())] = opset.version();
    for (const auto& function : model_.functions()) {
      functions_.insert(DescribeOperator(CanonicalDomain(function.domain()), function.name()));
    }
    // Initialisers that are also listed as inputs are not inputs of the network.
    std::set<std::string> initialisers;
    for (const auto& tensor : model_.graph().initializer()) {
      initialisers.insert(tensor.name());
      const auto element = FindElementTypeByOnnxCode(tensor.data_type());
      if (!element.has_value() || !IsFloat(*element)) continue;
      // Saturating, because nothing has been checked yet: a damaged file may declare any
      // dimensions.
      int64_t count = 1;
      for (int64_t dim : tensor.dims()) count = SaturatingMul(count, std::max<int64_t>(dim, 0));
      out_.parameters = SaturatingAdd(out_.parameters, count);
    }
    // Joins descriptions of inputs or outputs by commas.
    const auto list = [&](const auto& values, std::string& text) {
      for (const auto& info : values) {
        if (initialisers.contains(info.name())) continue;
        text += (text.empty() ? "" : ", ") + Describe(info);
      }
    };
    list(model_.graph().input(), out_.inputs);
    list(model_.graph().output(), out_.outputs);
    Count(model_.graph().node());
    for (const auto& function : model_.functions()) Count(function.node());
    for (auto& [name, row] : rows_) out_.operators.push_back(std::move(row));
    return std::move(out_);
  }

 private:
  // Counts the operators of a list of nodes.
  void Count(const NodeProtos& nodes) {
    for (int i = 0; i < nodes.size(); ++i) {
      const onnx::NodeProto& node = nodes[i];
      ++out_.nodes;
      const std::string domain = CanonicalDomain(node.domain()),
                        name = DescribeOperator(domain, node.op_type());
      OnnxOutline::Operator& row = rows_[name];
      // The first node of an operator creates its row.
      if (row.nodes++ == 0) {
        row.name = name;
        row.first_node = NameOfNode(node, i);
        row.supported = functions_.contains(name) || IsSupported(domain, node.op_type());
      }
      // Includes the graphs of If, Loop and Scan. Protocol buffers limit how deeply they can nest.
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) Count(attribute.g().node());
        for (const auto& graph : attribute.graphs()) Count(graph.node());
      }
    }
  }

  const onnx::ModelProto& model_;
  OnnxOutline out_;
  std::set<std::string> functions_;
  std::map<std::string, OnnxOutline::Operator> rows_;
};

}  // namespace

StatusOr<OnnxOutline> OutlineOnnx(const std::filesystem::path& path) {
  onnx::ModelProto model;
  KILN_RETURN_IF_ERROR(ParseOnnxFile(path, &model));
  if (!model.has_graph()) {
    return ErrorAt(path.string(), "", "is not an ONNX model: it holds no graph",
                   "a protobuf ModelProto is expected");
  }
  return Outliner(model).Run();
}

}  // namespace kiln
