// Supports ONNX's number types without an element type in graphs: INT4, UINT4 and the 8-bit floats
// E4M3FN and E5M2. Tensors of these types become int8, uint8 or f32 tensors of the same values;
// QuantizeLinear, and DequantizeLinear of a constant, become Quantise, which rounds to the format
// as an annotation does.
#ifndef KILN_FRONTEND_ONNX_NARROW_H_
#define KILN_FRONTEND_ONNX_NARROW_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/frontend/onnx_rules.h"
#include "kiln/frontend/onnx_tensor.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Returns the name of Kiln's format for a TensorProto.DataType ("int4", "uint4", "e4m3", "e5m2");
// empty for types that are not narrow or have no such format.
std::string_view NarrowFormatOf(int64_t onnx_code);
// Returns the TensorProto.DataType of the format with that name; 0 if ONNX has none.
int NarrowOnnxCode(std::string_view format);

// Converts a tensor of a narrow type: INT4 to int8, UINT4 to uint8, 8-bit floats to f32. Errors:
// those of TakeTensor.
StatusOr<Tensor> TakeNarrowTensor(onnx::TensorProto& proto, const std::string& source,
                                  const std::string& place, ExternalFiles& files);
// Writes codes (one per element, row-major) as a tensor of a narrow type, packed as ONNX specifies.
void WriteNarrowTensor(std::string_view format, const Shape& shape,
                       const std::vector<int64_t>& codes, const std::string& name,
                       onnx::TensorProto* proto);

// Tracks the values of narrow types during one import.
class NarrowValues {
 public:
  // Records that a constant was stored in a narrow type.
  void NoteConstant(const Value* value, std::string_view format) { constants_[value] = format; }

  // Emits the node if it quantises to a narrow type, or dequantises from one in a way that needs
  // special treatment; leaves other nodes alone. Errors: any other node that reads values of a
  // narrow type; scales that are not constant or not fp32; scales per block of an activation; a
  // DequantizeLinear with other parameters than its QuantizeLinear.
  Status Import(NodeImport& node);

 private:
  // Returns the narrow format that a constant was stored in; empty if none.
  std::string_view FormatOfConstant(const Value* value) const;
  Status Quantise(NodeImport& node, std::string_view format);
  Status Dequantise(NodeImport& node);
  Status DequantiseConstant(NodeImport& node, std::string_view format);

  std::unordered_map<const Value*, std::string_view> constants_;  // their formats
  // Results of QuantizeLinear, which hold dequantised values in the graph, and their formats.
  std::unordered_map<const Value*, std::string_view> quantised_;
  std::unordered_map<const Value*, std::string> annotations_;  // their annotations in text form
};

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_NARROW_H_
