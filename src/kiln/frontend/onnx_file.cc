// Implements onnx_file.h.
#include "kiln/frontend/onnx_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <limits>

#include "kiln/frontend/onnx_budget.h"
#include "kiln/frontend/onnx_external.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// Returns the error for bytes that do not parse.
Status NotAModel(const std::string& source) {
  return ErrorAt(source, "", "is not an ONNX model, or is damaged",
                 "a protobuf ModelProto is expected");
}

}  // namespace

Status ParseOnnxFile(const std::filesystem::path& path, onnx::ModelProto* model) {
  const std::string source = path.string();
  {
    // The mapping serves the check of the structure only and is released before parsing.
    KILN_ASSIGN_OR_RETURN(const MappedFile mapped, MapFile(path));
    if (mapped.size > static_cast<uint64_t>(budgets::kOnnxFileBytes)) {
      return ErrorAt(source, "", fmt::format("{} bytes are too many", mapped.size),
                     fmt::format("at most {}; larger models keep their tensors in external files",
                                 budgets::kOnnxFileBytes));
    }
    KILN_RETURN_IF_ERROR(
        CheckStructure({reinterpret_cast<const char*>(mapped.bytes), mapped.size}, source));
  }
  // Parses from a stream, so that the file's bytes and the parsed tensors are never in memory
  // together.
  KILN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  google::protobuf::io::FileInputStream stream(file.descriptor());
  google::protobuf::io::CodedInputStream coded(&stream);
  // The file's size has been checked already.
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!model->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    return NotAModel(source);
  return OkStatus();
}

Status ParseOnnxBytes(std::string_view bytes, const std::string& source, onnx::ModelProto* model) {
  if (bytes.size() > static_cast<size_t>(budgets::kOnnxFileBytes)) return NotAModel(source);
  KILN_RETURN_IF_ERROR(CheckStructure(bytes, source));
  return model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ? OkStatus()
                                                                             : NotAModel(source);
}

}  // namespace kiln
