// Converts TensorProto to Tensor and back, for import and export.
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

// Returns ONNX's name of a TensorProto.DataType, whether or not Kiln supports it
// (ir/element_type.h): "float", "complex64", "float8e4m3fn"; "number 99" for a number without a
// name.
std::string OnnxTypeName(int64_t data_type);

// Converts a tensor and frees the data of `proto` in the process; large raw data is moved, not
// copied.
//   place   the tensor's description for messages: "initialiser 'conv1.weight'"
//   errors  an unsupported element type, dimensions that do not fit the data, bad external data
StatusOr<Tensor> TakeTensor(onnx::TensorProto& proto, const std::string& source,
                            const std::string& place, ExternalFiles& files);

// The number of elements of constants that import may create beyond those in the file (dense forms
// of sparse tensors, masks): a few bytes of a file must not become gigabytes of memory.
class ElementBudget {
 public:
  // Claims elements; returns false if the budget does not suffice.
  bool Take(int64_t elements) {
    if (elements > left_) return false;
    left_ -= elements;
    return true;
  }

 private:
  // Elements that may still be created.
  int64_t left_ = budgets::kOnnxMadeElements;
};

// Converts a sparse tensor to its dense form. Errors: those of TakeTensor; an index outside the
// tensor; more elements than the budget.
StatusOr<Tensor> TakeSparseTensor(onnx::SparseTensorProto& proto, const std::string& source,
                                  const std::string& place, ExternalFiles& files,
                                  ElementBudget& budget);

// Writes a tensor as raw data (strings as string_data).
void WriteTensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* proto);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_TENSOR_H_
