// Fuzz target: passes any bytes to the reader of policies and training states. They get the SHA-256
// that the reader asks for, so that what lies behind its check is reached. The reader must reject
// the file with one line, or the state must survive a round trip.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/one_line.h"
#include "kiln/support/check.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/cgra/learn/weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  for (const uint8_t byte : kiln::Sha256Of(std::span(data, size))) {
    file += static_cast<char>(byte);
  }
  const auto state = kiln::cgra::ParseTraining(file, "fuzz");
  if (!state.ok()) {
    kiln::CheckOneLine(state.status());
    return 0;
  }
  const std::string printed = kiln::cgra::SerializeTraining(*state);
  const auto again = kiln::cgra::ParseTraining(printed, "again");
  KILN_CHECK(again.ok() && kiln::cgra::SerializeTraining(*again) == printed);
  return 0;
}
