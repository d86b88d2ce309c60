// Summarises the contents of an ONNX file, even of one that cannot be imported: counts the
// operators and tells whether Kiln supports each. Nothing is inferred and no weight is read.
#ifndef KILN_FRONTEND_ONNX_OUTLINE_H_
#define KILN_FRONTEND_ONNX_OUTLINE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// The summary of one file.
struct OnnxOutline {
  // The nodes of one operator.
  struct Operator {
    std::string name;  // with its domain unless that is ai.onnx: "com.acme.Scale"
    int64_t nodes = 0;
    bool supported =
        false;  // by import; a node may still be refused for an attribute, a type or its opset
    std::string first_node;
  };
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // by domain; "" is ai.onnx
  std::string inputs, outputs;  // "image f32 1x3x?x?", several joined by ", "; without initialisers
  int64_t nodes = 0;       // including those of functions and of the graphs in If, Loop and Scan
  int64_t parameters = 0;  // elements of floating-point initialisers
  std::vector<Operator> operators;  // sorted by name
};

// Reads the structure of a file.
//   errors  those of ParseOnnxFile (onnx_file.h); a model without a graph
StatusOr<OnnxOutline> OutlineOnnx(const std::filesystem::path& path);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_OUTLINE_H_
