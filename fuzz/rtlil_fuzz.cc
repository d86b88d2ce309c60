// Fuzz target: parses any bytes as RTLIL. The result must be a one-line error, or a design that is
// unchanged after it is written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/one_line.h"
#include "kiln/hardware/rtlil.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace kiln::hardware;  // NOLINT: a program of one file
  const auto written = [](const RtlilDesign& design) {
    std::string text;
    for (const auto& [name, module] : design) {
      text += ToRtlil(module, name, [](const std::string& other) { return other; });
    }
    return text;
  };
  const auto design = ParseRtlil(std::string(reinterpret_cast<const char*>(bytes), size));
  if (!design.ok()) {
    kiln::CheckOneLine(design.status());
    return 0;
  }
  KILN_CHECK(!design->empty());
  for (const auto& [name, module] : *design) {
    for (const auto& instance : module.instances) KILN_CHECK(design->contains(instance.module));
    (void)BlackBox(module, name, "clock");
  }
  const std::string text = written(*design);
  const auto again = ParseRtlil(text);
  KILN_CHECK(again.ok());
  KILN_CHECK(written(*again) == text);
  return 0;
}
