// Any text to the readers of VTA's vectors: refused in one line, or a vector that runs to an end of one kind or
// another.
#include <cstdint>
#include <string_view>

#include "kiln/support/check.h"
#include "kiln/targets/vta/json_reader.h"
#include "kiln/targets/vta/program_vector.h"
#include "kiln/targets/vta/runtime_vector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kiln::vta;  // NOLINT: a program of one file
  constexpr uint64_t kMostSteps = 100000;
  const auto parsed = ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!parsed.ok() || !parsed->is_object()) return 0;
  const Json& json = *parsed;
  const std::filesystem::path file = "/nowhere/fuzz.json";  // images beside it are not there
  const auto program = ParseProgramVector(json, file);
  if (program.ok()) {
    (void)FindDifference(*program, 0, kMostSteps);
  } else {
    KILN_CHECK(kiln::MessageOf(program.status()).find('\n') == std::string::npos);
  }
  const auto calls = ParseRuntimeVector(json, file);
  if (calls.ok()) {
    (void)Replay(*calls, "functional");
  } else {
    KILN_CHECK(kiln::MessageOf(calls.status()).find('\n') == std::string::npos);
  }
  return 0;
}
