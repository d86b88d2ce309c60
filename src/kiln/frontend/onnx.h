// ONNX models in and out.
//
// A model of opset 1 to 21 becomes a Graph whose operators mean what ONNX says at opset 21: older forms are upgraded on
// the way in (frontend/onnx_rules.def has one row an operator and opset range), operators that Kiln lacks but that are
// a short formula over operators it has are written out as that formula. Export writes opset 21.
//
// What import does besides:
//   - Constant nodes and initialisers become constants; an initialiser that is also listed as input is a constant.
//   - Nodes may stand in any order; a cycle, a missing or twice defined value is an error that names its node.
//   - Functions (FunctionProto) are inlined; their nodes are named "<call>/<node>".
//   - Shapes are inferred as nodes are added, through the arithmetic on shapes that exporters write as nodes; declared
//     and inferred types that contradict each other are an error.
//   - All operators that Kiln does not support are named in one message.
#ifndef KILN_FRONTEND_ONNX_H_
#define KILN_FRONTEND_ONNX_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/ir/op.h"
#include "kiln/support/status.h"

namespace kiln {

// The opset and IR version that ExportOnnx writes; also the newest opset that import knows.
inline constexpr int kOnnxOpset = 21;
inline constexpr int kOnnxIrVersion = 10;

struct ImportOptions {
  // A symbolic or missing first dimension of an input becomes this, as does the same symbol elsewhere; 0 leaves it
  // unknown. A first dimension that the model fixes is not changed.
  int64_t batch = 1;
  // Shapes of inputs by name; they win over what the model declares.
  std::map<std::string, Shape> input_shapes;
  // Sizes of symbolic dimensions and shapes of inputs, as --shape names them: a shape of one dimension belongs to the
  // symbol of that name where an input has one, and else to the input.
  std::map<std::string, Shape> shapes = {};
  // Whether it is an error that an input's shape stays unknown in part; the message lists the symbols without a size.
  bool known_inputs = false;
};

// Reads a model file; tensors in external files are looked for in its folder and memory-mapped.
//   errors  not a model; a type, operator or feature that Kiln does not support; a graph that does not hold together
StatusOr<Graph> ImportOnnx(const std::filesystem::path& path, const ImportOptions& options = {});

// The same from memory. `source` names the model in messages; external tensors are looked for in `folder`, and refused
// when it is empty.
StatusOr<Graph> ImportOnnxBytes(std::string_view bytes, const std::string& source,
                                const std::filesystem::path& folder,
                                const ImportOptions& options = {});

// How annotations are written.
enum class Quantisers : uint8_t {
  kQdq,    // QuantizeLinear and DequantizeLinear, which most tools know
  kQonnx,  // QONNX's Quant, which says every width up to 16 bits and whether it is narrow
};

struct ExportOptions {
  Quantisers quantisers = Quantisers::kQdq;
};

// Writes the graph as a model of opset 20, or of 21 where it has what came with that: 4-bit and 16-bit codes, scales of
// blocks, scales a channel of a group normalisation. ONNX Runtime takes fewer models of opset 21. Where Kiln's
// operators know more than ONNX's, nodes are added: Transposes round operators in layout "nhwc", Transpose and Mul for
// MatMul's transpose_b and alpha. A value annotated with an integer quantisation of up to 16 bits passes through
// QuantizeLinear and DequantizeLinear, so that other tools compute the quantised network: Clip stands before them where
// the codes are fewer than those of ONNX's 8 or 16 bits, and constants (up to 32 bits) are stored as codes with a
// DequantizeLinear after them. Imported and annotated again (AnnotationPipeline in passes/pipeline.h), int8, uint8,
// int16 and uint16 that use all their codes have exactly the parameters they had. With Quantisers::kQonnx a value of up
// to 16 bits passes through a Quant instead, a constant as the values of its codes, and that holds for every integer
// format. An annotation of fp32 itself changes nothing and is left out.
//   errors  an annotation that ONNX cannot express (formats that are no integers, other roundings than to nearest even,
//           overflow that does not saturate, scales per block, activations of 32 bits, activations with fewer codes
//           than 8 or 16 bits and a scale a channel); a MatMul of unknown rank with transpose_b
Status ExportOnnx(const Graph& graph, const std::filesystem::path& path,
                  const ExportOptions& options = {});
StatusOr<std::string> ExportOnnxBytes(const Graph& graph, const ExportOptions& options = {});

// A single tensor in ONNX's TensorProto encoding, as the .pb files of model test data hold.
StatusOr<Tensor> ImportOnnxTensor(std::string_view bytes, const std::string& source);

// Whether ONNX models can bring the operator in, and take it out again; for the operator table's completeness test.
bool HasImporter(Op op);
bool HasExporter(Op op);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_H_
