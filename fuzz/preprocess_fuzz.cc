// Fuzz target: parses any text as the value of --preprocess. The result must be a one-line error
// that names the option, or settings that print as text that parses to the same settings.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/frontend/data_preprocess.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto settings = kiln::ParsePreprocess(text, "", "--preprocess");
  if (!settings.ok()) {
    const std::string message = kiln::MessageOf(settings.status());
    KILN_CHECK(message.rfind("--preprocess: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  const auto again = kiln::ParsePreprocess(settings->ToString(), "", "--preprocess");
  KILN_CHECK(again.ok() && *again == *settings);
  return 0;
}
