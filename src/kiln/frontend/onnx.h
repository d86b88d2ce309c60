// Imports and exports ONNX models.
//
// A model of opset 1 to 21 becomes a Graph whose operators have the semantics of opset 21. Older
// forms are upgraded on import (frontend/onnx_rules.def has one row per operator and range of
// opsets). Operators that Kiln lacks but that are a short formula over other operators are written
// out as that formula.
//
// Import also does the following:
//   - Constant nodes and initialisers become constants, including initialisers that are listed as
//     inputs.
//   - Nodes may be in any order; a cycle, or a missing or twice defined value, is an error that
//     names its node.
//   - Functions (FunctionProto) are inlined; their nodes are named "<call>/<node>".
//   - Shapes are inferred as nodes are added, including the shape arithmetic that exporters emit as
//     nodes; declared and inferred types that contradict each other are an error.
//   - One message lists all operators that Kiln does not support.
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

// The newest opset that import accepts and export writes, and the IR version that goes with it.
inline constexpr int kOnnxOpset = 21;
inline constexpr int kOnnxIrVersion = 10;

// Shapes and checks of an import.
struct ImportOptions {
  // Size of a symbolic or missing first dimension of an input, and of the same symbol elsewhere; 0
  // leaves it unknown. A first dimension that the model fixes is not changed.
  int64_t batch = 1;
  // Shapes of inputs by name; they override the model's declarations.
  std::map<std::string, Shape> input_shapes;
  // Sizes of symbolic dimensions and shapes of inputs, as given with --shape: a shape of one
  // dimension belongs to the symbol of that name if an input has one, otherwise to the input. An
  // input's shape also sizes its symbols, unless they have a size of their own.
  std::map<std::string, Shape> shapes = {};
  // Reports an error if an input's shape remains partly unknown; the message lists the symbols
  // without a size.
  bool known_inputs = false;
};

// Reads a model file. External tensors are looked up in its folder and memory-mapped.
//   errors  not a model; an unsupported type, operator or feature; an inconsistent graph
StatusOr<Graph> ImportOnnx(const std::filesystem::path& path, const ImportOptions& options = {});

// Reads a model from memory. `source` names it in messages. External tensors are looked up in
// `folder`; an empty `folder` refuses them.
StatusOr<Graph> ImportOnnxBytes(std::string_view bytes, const std::string& source,
                                const std::filesystem::path& folder,
                                const ImportOptions& options = {});

// The nodes as which annotations are exported.
enum class Quantisers : uint8_t {
  kQdq,    // QuantizeLinear and DequantizeLinear, which most tools support
  kQonnx,  // QONNX's Quant, which expresses every width up to 16 bits and narrow ranges
};

// Options of an export.
struct ExportOptions {
  Quantisers quantisers = Quantisers::kQdq;
};

// Writes the graph as a model of opset 20, or 21 if it needs that version's additions: 4-bit and
// 16-bit codes, scales per block, scales per channel of a group normalisation. (ONNX Runtime
// accepts fewer models of opset 21.)
//
// Attributes that ONNX lacks become nodes: Transposes around operators in layout "nhwc", Transpose
// and Mul for MatMul's transpose_b and alpha.
//
// A value annotated with an integer quantisation of up to 16 bits passes through QuantizeLinear and
// DequantizeLinear, so that other tools compute the quantised network. A Clip precedes them if the
// format has fewer codes than ONNX's 8 or 16 bits. Constants (up to 32 bits) are stored as codes,
// followed by a DequantizeLinear. After import and AnnotationPipeline (passes/pipeline.h), int8,
// uint8, int16 and uint16 that use all their codes have exactly their original parameters. With
// Quantisers::kQonnx, a value of up to 16 bits passes through a Quant instead, and a constant is
// stored as the values of its codes; this preserves every integer format. An annotation of fp32
// itself changes nothing and is omitted.
//   errors  an annotation that ONNX cannot express: formats other than integers, e4m3 and e5m2;
//           roundings other than to nearest even; overflow that does not saturate; scales per
//           block, except for constants of up to 8 bits; activations of 32 bits; activations with
//           fewer codes than 8 or 16 bits and scales per channel. A MatMul of unknown rank with
//           transpose_b
Status ExportOnnx(const Graph& graph, const std::filesystem::path& path,
                  const ExportOptions& options = {});
StatusOr<std::string> ExportOnnxBytes(const Graph& graph, const ExportOptions& options = {});

// Returns the values whose annotation Quantisers::kQonnx writes as QuantizeLinear and
// DequantizeLinear all the same: 8-bit floats, integers above 16 bits, and scales per block, which
// Quant cannot express.
std::vector<const Value*> ValuesWithoutQuant(const Graph& graph);

// Reads a single tensor in ONNX's TensorProto encoding, the format of the .pb files of test data.
StatusOr<Tensor> ImportOnnxTensor(std::string_view bytes, const std::string& source);

// Return true if ONNX models can contain the operator on import and on export; for the completeness
// test of the operator table.
bool HasImporter(Op op);
bool HasExporter(Op op);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_H_
