// Fuzz target: passes any bytes to the reader of trained thresholds, which come from a model's
// metadata. It must reject the text with one line, or the thresholds must survive a round trip.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/one_line.h"
#include "kiln/support/check.h"
#include "kiln/targets/binary/compile/trained_thresholds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto thresholds = kiln::binary::ParseThresholds(text, "fuzz");
  if (!thresholds.ok()) {
    kiln::CheckOneLine(thresholds.status());
    return 0;
  }
  const auto printed = kiln::binary::PrintThresholds(*thresholds);
  KILN_CHECK(printed.ok());
  const auto again = kiln::binary::ParseThresholds(*printed, "again");
  KILN_CHECK(again.ok() && *again == *thresholds);
  return 0;
}
