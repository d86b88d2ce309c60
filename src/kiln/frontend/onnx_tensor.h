// TensorProto to Tensor and back.
#ifndef KILN_FRONTEND_ONNX_TENSOR_H_
#define KILN_FRONTEND_ONNX_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kiln/frontend/onnx_external.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"
#include "onnx/onnx_pb.h"

namespace kiln {

// The name that ONNX gives a TensorProto.DataType, Kiln's own types (ir/element_type.h) and those that it lacks:
// "float", "complex64", "float8e4m3fn"; "type 99" for a number without one.
std::string OnnxTypeName(int64_t data_type);

// Converts a tensor and frees the data of `proto` as it goes: large raw data is handed over without a copy.
//   place   what the tensor is, for messages: "initialiser 'conv1.weight'"
//   errors  an unsupported element type, dimensions and data that do not fit each other, bad external data
StatusOr<Tensor> TakeTensor(onnx::TensorProto& proto, const std::string& source,
                            const std::string& place, ExternalFiles& files);

// How many elements of constants may come into being that the file itself does not hold (dense forms of sparse tensors,
// masks): a few bytes of file must not make gigabytes of memory.
class ElementBudget {
 public:
  bool Take(int64_t elements) {
    if (elements > left_) return false;
    left_ -= elements;
    return true;
  }

 private:
  int64_t left_ = budgets::kOnnxMadeElements;
};

// The dense form of a sparse tensor.
StatusOr<Tensor> TakeSparseTensor(onnx::SparseTensorProto& proto, const std::string& source,
                                  const std::string& place, ExternalFiles& files,
                                  ElementBudget& budget);

// Writes the tensor as raw data (strings as string_data).
void WriteTensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* proto);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_TENSOR_H_
