// Fuzz target: parses any bytes as the JSON of a run. The result must be a run that can be compared
// with itself, or a one-line error that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/report/comparison.h"
#include "kiln/report/saved_run.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto run = kiln::ParseSavedRun({reinterpret_cast<const char*>(bytes), size}, "fuzz.json");
  if (!run.ok()) {
    const std::string message = kiln::MessageOf(run.status());
    KILN_CHECK(message.rfind("fuzz.json: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  const auto comparison = kiln::Compare({*run, *run}, false);
  KILN_CHECK(comparison.ok());
  (void)kiln::ToText(*comparison, 10);
  (void)kiln::ToJson(*comparison);
  (void)kiln::ToHtml(*comparison);
  return 0;
}
