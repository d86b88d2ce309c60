// Fuzz target: imports any bytes as an ONNX model. The result must be a one-line error that names
// the file, or a graph that shape inference accepts again, that can be exported, and that still
// verifies after the passes. The outline, which describes any model, is tested as well.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/frontend/onnx.h"
#include "kiln/frontend/onnx_outline.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/check.h"

namespace {

// Tests the outline that `kiln inspect` prints for models that cannot be imported.
void Outline(const uint8_t* bytes, size_t size) {
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  KILN_CHECK(file >= 0 && ::write(file, bytes, size) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto outline = kiln::OutlineOnnx(path);
  ::close(file);
  if (outline.ok()) {
    KILN_CHECK(outline->nodes >= 0 && outline->parameters >= 0);
    return;
  }
  const std::string message = kiln::MessageOf(outline.status());
  KILN_CHECK(message.rfind(path + ": ", 0) == 0 && message.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Outline(bytes, size);
  auto graph = kiln::ImportOnnxBytes({reinterpret_cast<const char*>(bytes), size}, "fuzz.onnx", "");
  if (!graph.ok()) {
    const std::string message = kiln::MessageOf(graph.status());
    KILN_CHECK(message.rfind("fuzz.onnx: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  if (!kiln::Verify(*graph).ok()) return 0;
  KILN_CHECK(kiln::InferShapes(*graph).ok());
  KILN_CHECK(kiln::ExportOnnxBytes(*graph).ok());

  // A pass may reject the graph, because folding can reveal that shapes contradict each other. The
  // error must be one line.
  kiln::PassContext context;
  const kiln::Status status = kiln::RunPasses(*graph, kiln::StandardPipeline(), context);
  if (!status.ok()) {
    const std::string message = kiln::MessageOf(status);
    KILN_CHECK(message.find("fuzz.onnx: ") != std::string::npos &&
               message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(kiln::Verify(*graph).ok());
  return 0;
}
