// An .onnx file as protobuf's structure, within the budgets: the one way in for all that reads one.
#ifndef KILN_FRONTEND_ONNX_FILE_H_
#define KILN_FRONTEND_ONNX_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "onnx/onnx_pb.h"

namespace kiln {

// Parses into `model`.
//   errors  no regular file; more than budgets::kOnnxFileBytes; more structure than CheckStructure allows; no model
Status ParseOnnxFile(const std::filesystem::path& path, onnx::ModelProto* model);
// The same of bytes in memory; messages call them `source`.
Status ParseOnnxBytes(std::string_view bytes, const std::string& source, onnx::ModelProto* model);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_FILE_H_
