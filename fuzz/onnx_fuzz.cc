// Any bytes as an ONNX model: either a graph that inference accepts a second time, that survives export and that the
// passes leave whole, or an error of one line that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
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

  // A pass may refuse the graph, where a folded constant or another form shows that shapes contradict each other, and
  // says so in one line.
  kiln::PassContext context;
  const kiln::Status status = kiln::RunPasses(*graph, kiln::StandardPipeline(), context);
  if (!status.ok()) {
    const std::string message = kiln::MessageOf(status);
    KILN_CHECK(message.find("fuzz.onnx: ") != std::string::npos && message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(kiln::Verify(*graph).ok());
  return 0;
}
