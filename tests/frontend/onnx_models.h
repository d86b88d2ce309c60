// Builds ONNX models for tests from protobuf's text format.
#ifndef KILN_TESTS_FRONTEND_ONNX_MODELS_H_
#define KILN_TESTS_FRONTEND_ONNX_MODELS_H_

#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "onnx/onnx_pb.h"

namespace kiln {

// Returns a model of the opset with a graph in text form; `rest` is placed beside the graph.
inline std::string ModelBytes(int opset, const std::string& graph, const std::string& rest = "") {
  onnx::ModelProto model;
  const std::string text =
      fmt::format("ir_version: 8 opset_import {{ version: {} }} graph {{ name: 'test' {} }} {}",
                  opset, graph, rest);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

inline StatusOr<Graph> Import(int opset, const std::string& graph, const std::string& rest = "",
                              const ImportOptions& options = {}) {
  return ImportOnnxBytes(ModelBytes(opset, graph, rest), "test.onnx", "", options);
}

// Returns "input { name: 'x' type { tensor_type { elem_type: 1 shape { ... } } } }"; a dimension is
// a number or a symbol.
inline std::string ValueText(const std::string& field, const std::string& name,
                             const std::vector<std::string>& dims, int element = 1) {
  std::string shape;
  for (const std::string& dim : dims) {
    const bool number = !dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos;
    shape += dim.empty() ? "dim { }"
                         : fmt::format("dim {{ {}: {} }}", number ? "dim_value" : "dim_param",
                                       number ? dim : "'" + dim + "'");
  }
  return fmt::format(
      "{} {{ name: '{}' type {{ tensor_type {{ elem_type: {} shape {{ {} }} }} }} }} ", field, name,
      element, shape);
}
inline std::string InputText(const std::string& name, const std::vector<std::string>& dims,
                             int element = 1) {
  return ValueText("input", name, dims, element);
}

// Returns the node `op_type` with input x (and the inputs and attributes in `more`) and output y,
// which is the graph's output.
inline std::string NodeToY(const std::string& op_type, const std::string& more = "") {
  return fmt::format("node {{ op_type: '{}' input: 'x' {} output: 'y' }} output {{ name: 'y' }} ",
                     op_type, more);
}

inline std::string IntAttribute(const std::string& name, int64_t value) {
  return fmt::format("attribute {{ name: '{}' type: INT i: {} }} ", name, value);
}
inline std::string FloatAttribute(const std::string& name, double value) {
  return fmt::format("attribute {{ name: '{}' type: FLOAT f: {} }} ", name, value);
}
inline std::string IntsAttribute(const std::string& name, const std::vector<int64_t>& values) {
  return fmt::format("attribute {{ name: '{}' type: INTS ints: [{}] }} ", name,
                     fmt::join(values, ", "));
}

inline std::string FloatsText(const std::string& name, const std::vector<int64_t>& dims,
                              const std::vector<float>& values) {
  return fmt::format("initializer {{ name: '{}' data_type: 1 dims: [{}] float_data: [{}] }} ", name,
                     fmt::join(dims, ", "), fmt::join(values, ", "));
}

// Returns the operators of a graph's nodes in order.
inline std::vector<std::string> OperatorsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.emplace_back(node->info().id);
  return names;
}

// Returns start, start + step, start + 2 step, ... in a shape.
inline Tensor Ramp(Shape shape, float step = 1, float start = 0) {
  Tensor tensor(ElementType::kFloat32, std::move(shape));
  for (size_t i = 0; i < tensor.data<float>().size(); ++i)
    tensor.data<float>()[i] = start + step * static_cast<float>(i);
  return tensor;
}

// Runs the graph on the inputs and returns its only output.
inline Tensor OutputOf(const StatusOr<Graph>& graph, const std::vector<Tensor>& inputs) {
  EXPECT_TRUE(graph.ok()) << MessageOf(graph.status());
  if (!graph.ok()) return Tensor();
  auto executor = ReferenceExecutor::Create(*graph);
  EXPECT_TRUE(executor.ok()) << MessageOf(executor.status());
  if (!executor.ok()) return Tensor();
  auto outputs = (*executor)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << MessageOf(outputs.status());
  return outputs.ok() ? outputs->at(0) : Tensor();
}

inline void ExpectError(const StatusOr<Graph>& graph, StatusCode code, const std::string& text) {
  ASSERT_FALSE(graph.ok());
  const std::string message = MessageOf(graph.status());
  EXPECT_EQ(graph.status().code(), code) << message;
  EXPECT_NE(message.find(text), std::string::npos) << message;
  EXPECT_EQ(message.rfind("test.onnx: ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

}  // namespace kiln

#endif  // KILN_TESTS_FRONTEND_ONNX_MODELS_H_
