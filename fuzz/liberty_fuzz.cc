// Fuzz target: parses any bytes as a Liberty file. The result must be a library of cells with
// finite areas that includes the inverter chosen for mapping, or a one-line error that names the
// file.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/hardware/liberty.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto library =
      kiln::hardware::ParseLiberty({reinterpret_cast<const char*>(bytes), size}, "fuzz.lib");
  if (!library.ok()) {
    const std::string message = kiln::MessageOf(library.status());
    KILN_CHECK(message.rfind("fuzz.lib: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  bool has_flip_flop = false;
  for (const auto& [name, cell] : library->cells) {
    KILN_CHECK(std::isfinite(cell.area) && cell.area >= 0);
    KILN_CHECK(std::isfinite(cell.input_capacitance) && cell.input_capacitance >= 0);
    has_flip_flop = has_flip_flop || cell.is_flip_flop;
  }
  KILN_CHECK(has_flip_flop);
  const std::string inverter = library->MiddleInverter();
  KILN_CHECK(inverter.empty() || library->cells.at(inverter).is_inverter);
  return 0;
}
