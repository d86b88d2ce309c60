// Estimates the memory that an ONNX file needs before it is parsed, so that a small malicious file
// cannot exhaust memory.
#ifndef KILN_FRONTEND_ONNX_BUDGET_H_
#define KILN_FRONTEND_ONNX_BUDGET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "onnx/onnx_pb.h"

namespace kiln {

// Returns the approximate number of bytes that protobuf needs for a message of type `message`
// encoded in `bytes`, beyond the size of the encoding: an empty node takes 2 bytes in a file but
// more than 100 in memory. Tensor data, the largest part of most models, is skipped. Stops at the
// first damage, which parsing reports, and when the result exceeds `most`.
int64_t StructureBytes(std::string_view bytes, const google::protobuf::Descriptor& message,
                       int64_t most);

// Error: the model needs more than budgets::kOnnxStructureBytes.
Status CheckStructure(std::string_view bytes, const std::string& source);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_BUDGET_H_
