// Fuzz target: parses any bytes as IR text. The result must be a one-line error that names the
// file, or a graph that verifies and prints as text that parses to the same graph.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kiln/ir/text.h"
#include "kiln/ir/verifier.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto graph = kiln::ParseGraph({reinterpret_cast<const char*>(bytes), size}, "fuzz.kir",
                                      {.elided_as_inputs = true});
  if (!graph.ok()) {
    const std::string message = kiln::MessageOf(graph.status());
    KILN_CHECK(message.rfind("fuzz.kir: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(kiln::Verify(*graph).ok());
  const std::string text = kiln::PrintGraph(*graph);
  const auto again = kiln::ParseGraph(text, "fuzz.kir");
  KILN_CHECK(again.ok() && kiln::PrintGraph(*again) == text);
  return 0;
}
