// Parses an .onnx file into protobuf's structure within the budgets. Every reader of ONNX files
// goes through these functions.
#ifndef KILN_FRONTEND_ONNX_FILE_H_
#define KILN_FRONTEND_ONNX_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "onnx/onnx_pb.h"

namespace kiln {

// Parses a file into `model`.
//   errors  not a regular file; more than budgets::kOnnxFileBytes; more structure than
//           CheckStructure allows; not a model
Status ParseOnnxFile(const std::filesystem::path& path, onnx::ModelProto* model);
// Parses bytes in memory; messages call them `source`.
Status ParseOnnxBytes(std::string_view bytes, const std::string& source, onnx::ModelProto* model);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_FILE_H_
