// How much memory an ONNX file asks for, found before the file is parsed.
#ifndef KILN_FRONTEND_ONNX_BUDGET_H_
#define KILN_FRONTEND_ONNX_BUDGET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "onnx/onnx_pb.h"

namespace kiln {

// Returns about how many bytes of memory protobuf takes for the message `message` encoded in `bytes` beyond the size of
// the encoding: an empty node takes 2 bytes of a file and more than 100 of memory. The bytes of tensors, which are most
// of a model, are skipped. Stops at the first damage, which parsing reports, and when the result exceeds `most`.
int64_t StructureBytes(std::string_view bytes, const google::protobuf::Descriptor& message,
                       int64_t most);

// Error: a model that takes more than budgets::kOnnxStructureBytes.
Status CheckStructure(std::string_view bytes, const std::string& source);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_BUDGET_H_
