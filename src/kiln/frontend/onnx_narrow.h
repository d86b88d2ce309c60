// ONNX's number types that graphs have no element type for: INT4, UINT4 and the 8-bit floats E4M3FN and E5M2. Tensors
// of them become int8, uint8 or f32 tensors of the same values; QuantizeLinear and DequantizeLinear of them become
// Quantise, which rounds to the format as an annotation does.
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

// Returns the name of Kiln's format for a TensorProto.DataType ("int4", "uint4", "e4m3", "e5m2"); empty for types that
// are not narrow, and for those without such a format.
std::string_view NarrowFormatOf(int64_t onnx_code);
// Returns the TensorProto.DataType of a format of that name; 0 if ONNX has none.
int NarrowOnnxCode(std::string_view format);

// Converts a tensor of a narrow type: INT4 to int8, UINT4 to uint8, 8-bit floats to f32. Errors: as TakeTensor.
StatusOr<Tensor> TakeNarrowTensor(onnx::TensorProto& proto, const std::string& source,
                                  const std::string& place, ExternalFiles& files);
// Writes codes (one per element, row-major) as a tensor of a narrow type, packed as ONNX packs it.
void WriteNarrowTensor(std::string_view format, const Shape& shape,
                       const std::vector<int64_t>& codes, const std::string& name,
                       onnx::TensorProto* proto);

// What an import knows of values of narrow types.
class NarrowValues {
 public:
  void NoteConstant(const Value* value, std::string_view format) { constants_[value] = format; }

  // Emits the node if it quantises to a narrow type, or dequantises from one in a way that needs it; leaves other nodes
  // alone. Errors: a node that is neither and reads values of a narrow type; scales that are not constant or not fp32;
  // scales per block of an activation; parameters of a DequantizeLinear other than its QuantizeLinear's.
  Status Import(NodeImport& node);

 private:
  std::string_view FormatOfConstant(const Value* value) const;
  Status Quantise(NodeImport& node, std::string_view format);
  Status Dequantise(NodeImport& node);
  Status DequantiseFloats(NodeImport& node, std::string_view format);

  std::unordered_map<const Value*, std::string_view> constants_;  // to their formats
  // Results of QuantizeLinear, which hold dequantised values in the graph, to their format.
  std::unordered_map<const Value*, std::string_view> quantised_;
  std::unordered_map<const Value*, std::string> annotations_;  // of them, in text form
};

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_NARROW_H_
