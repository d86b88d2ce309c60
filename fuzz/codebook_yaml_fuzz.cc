// Fuzz target: parses any bytes as a codebook. The result must be a codebook that encodes each of
// its values as the value's own code, or a one-line error that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/numerics/codebook.h"
#include "kiln/numerics/codec.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto file = kiln::ParseCodebook({reinterpret_cast<const char*>(bytes), size}, "fuzz.yaml");
  if (!file.ok()) {
    const std::string message = kiln::MessageOf(file.status());
    KILN_CHECK(message.rfind("fuzz.yaml: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(!file->name.empty() && file->bits >= 1 && file->bits <= 8);
  const size_t count = file->codebook.values.size();
  KILN_CHECK(count >= 2 && count <= size_t{1} << file->bits);
  kiln::Format format{.name = "fuzz.yaml", .kind = kiln::FormatKind::kCodebook, .bits = file->bits};
  format.codebook = &file->codebook;
  for (uint32_t code = 0; code < count; ++code) {
    KILN_CHECK(kiln::Encode(format, kiln::Decode(format, code)) == code);
  }
  return 0;
}
