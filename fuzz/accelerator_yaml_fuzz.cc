// Fuzz target: parses any bytes as a design point. The result must be an accelerator that can state
// its cost, or a one-line error that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/support/check.h"
#include "kiln/targets/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto accelerator =
      kiln::ParseAccelerator({reinterpret_cast<const char*>(bytes), size}, "fuzz.yaml");
  if (!accelerator.ok()) {
    const std::string message = kiln::MessageOf(accelerator.status());
    KILN_CHECK(message.rfind("fuzz.yaml: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(*accelerator != nullptr);
  (void)(*accelerator)->EstimateCost(45);
  return 0;
}
