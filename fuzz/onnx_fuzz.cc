// Any bytes as an ONNX model: either a graph that inference accepts a second time and that survives export, or an error
// of one line that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  auto graph = kiln::ImportOnnxBytes({reinterpret_cast<const char*>(bytes), size}, "fuzz.onnx", "");
  if (!graph.ok()) {
    const std::string message = kiln::MessageOf(graph.status());
    KILN_CHECK(message.rfind("fuzz.onnx: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  if (!kiln::Verify(*graph).ok()) return 0;
  KILN_CHECK(kiln::InferShapes(*graph).ok());
  KILN_CHECK(kiln::ExportOnnxBytes(*graph).ok());
  return 0;
}
